// How an operator says what is wrong.

#include "aclnn/nnop.h"

#include <reprise/kernel.h>
#include <stdarg.h>
#include <stdio.h>

#define SENTENCE_BYTES 512

aclnnStatus reprise_nn_fail(aclnnStatus code, const char *format, ...)
{
    char sentence[SENTENCE_BYTES];
    int used = snprintf(sentence, sizeof(sentence), "%d: ", (int)code);
    va_list args;
    va_start(args, format);
    vsnprintf(sentence + used, sizeof(sentence) - (size_t)used, format, args);
    va_end(args);
    reprise_error_report(sentence);
    return code;
}

const char *reprise_nn_type_name(aclDataType type)
{
    static _Thread_local char other[24];
    switch (type) {
    case ACL_FLOAT:
        return "fp32";
    case ACL_FLOAT16:
        return "fp16";
    case ACL_INT32:
        return "int32";
    default:
        snprintf(other, sizeof(other), "type %d", (int)type);
        return other;
    }
}
