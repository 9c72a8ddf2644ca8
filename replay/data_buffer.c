// Descriptions of memory (aclDataBuffer), and the application log.

#include <acl/acl_base.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/log.h"
#include "replay/context.h"

struct aclDataBuffer {
    void *data;
    size_t bytes;
};

aclDataBuffer *aclCreateDataBuffer(void *data, size_t size)
{
    if (rp_enter() != RP_OK) {
        return NULL;
    }
    aclDataBuffer *buffer = rp_calloc(1, sizeof(*buffer));
    if (buffer == NULL) {
        rp_fail(RP_ENOMEM, "no memory for a data buffer");
        return NULL;
    }
    buffer->data = data;
    buffer->bytes = size;
    if (rp_handle_add(RP_HANDLE_OTHER, buffer) != RP_OK) {
        rp_free(buffer);
        return NULL;
    }
    return buffer;
}

static rp_status check(const aclDataBuffer *buffer)
{
    if (buffer == NULL) {
        return rp_fail(RP_ENULL, "dataBuffer is a null pointer");
    }
    if (!rp_handle_live(RP_HANDLE_OTHER, buffer)) {
        return rp_fail(RP_EHANDLE, "dataBuffer %p is none, or was destroyed", (const void *)buffer);
    }
    return RP_OK;
}

aclError aclDestroyDataBuffer(const aclDataBuffer *dataBuffer)
{
    rp_status st = check(dataBuffer);
    if (st == RP_OK && !rp_handle_remove(RP_HANDLE_OTHER, dataBuffer)) {
        st = rp_fail(
                RP_EHANDLE, "another thread is destroying dataBuffer %p", (const void *)dataBuffer);
    }
    if (st == RP_OK) {
        rp_free((void *)dataBuffer); // ours, and made without const
    }
    return rp_acl(st);
}

aclError aclUpdateDataBuffer(aclDataBuffer *dataBuffer, void *data, size_t size)
{
    const rp_status st = check(dataBuffer);
    if (st == RP_OK) {
        dataBuffer->data = data;
        dataBuffer->bytes = size;
    }
    return rp_acl(st);
}

void *aclGetDataBufferAddr(const aclDataBuffer *dataBuffer)
{
    return dataBuffer == NULL ? NULL : dataBuffer->data;
}

size_t aclGetDataBufferSizeV2(const aclDataBuffer *dataBuffer)
{
    return dataBuffer == NULL ? 0 : dataBuffer->bytes;
}

uint32_t aclGetDataBufferSize(const aclDataBuffer *dataBuffer)
{
    return (uint32_t)aclGetDataBufferSizeV2(dataBuffer);
}

void aclAppLog(aclLogLevel logLevel, const char *func, const char *file, uint32_t line,
        const char *fmt, ...)
{
    char text[1024];
    va_list args;
    if (fmt == NULL || rp_enter() != RP_OK) {
        return;
    }
    const enum rp_log_level level = (int)logLevel < ACL_DEBUG || logLevel > ACL_ERROR
                                            ? RP_LOG_ERROR
                                            : (enum rp_log_level)logLevel;
    if (!rp_log_enabled(level)) {
        return;
    }
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    rp_log_write(level, "[APP] %s:%u %s: %s", file == NULL ? "?" : file, line,
            func == NULL ? "?" : func, text);
}
