#include "base/status.h"

#define ACL_INTERNAL_ERROR 500000
#define HCCL_INTERNAL 4

int rp_status_acl(rp_status st)
{
    switch (st) {
#define STATUS_ACL(name, value, acl, hccl, text) \
    case name:                                   \
        return acl;
        RP_STATUS_MAP(STATUS_ACL)
#undef STATUS_ACL
    }
    return ACL_INTERNAL_ERROR;
}

int rp_status_hccl(rp_status st)
{
    switch (st) {
#define STATUS_HCCL(name, value, acl, hccl, text) \
    case name:                                    \
        return hccl;
        RP_STATUS_MAP(STATUS_HCCL)
#undef STATUS_HCCL
    }
    return HCCL_INTERNAL;
}

const char *rp_status_name(rp_status st)
{
    switch (st) {
#define STATUS_NAME(name, value, acl, hccl, text) \
    case name:                                    \
        return #name;
        RP_STATUS_MAP(STATUS_NAME)
#undef STATUS_NAME
    }
    return "RP_?";
}

const char *rp_status_text(rp_status st)
{
    switch (st) {
#define STATUS_TEXT(name, value, acl, hccl, text) \
    case name:                                    \
        return text;
        RP_STATUS_MAP(STATUS_TEXT)
#undef STATUS_TEXT
    }
    return "unknown status";
}
