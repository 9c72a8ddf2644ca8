// Parsers of the variables that choose addresses, interfaces and ports.

#include <arpa/inet.h>
#include <string.h>

#include "base/env_table.h"

#define LIST_BYTES 4096
#define PORT_MAX 65535

enum rp_env_outcome rp_env_parse_ip(const struct rp_env_input *input, void *field)
{
    struct rp_ip ip = { 0 };
    char text[INET6_ADDRSTRLEN + RP_ENV_IFNAME_MAX];
    if (rp_text_copy(text, sizeof(text), input->text)) {
        if (inet_pton(AF_INET, text, ip.address) == 1) {
            ip.family = AF_INET;
        } else {
            char *scope = text;
            char *address = rp_env_cut(&scope, '%');
            bool scope_good =
                    scope == NULL || (scope[0] != '\0' && strlen(scope) < RP_ENV_IFNAME_MAX);
            if (scope_good && inet_pton(AF_INET6, address, ip.address) == 1) {
                ip.family = AF_INET6;
                rp_text_copy(ip.scope, sizeof(ip.scope), scope == NULL ? "" : scope);
            }
        }
    }
    if (ip.family == 0) {
        return rp_env_reject(input);
    }
    *(struct rp_ip *)field = ip;
    return RP_ENV_TAKEN;
}

enum rp_env_outcome rp_env_parse_ifnames(const struct rp_env_input *input, void *field)
{
    struct rp_ifname_filter filter = { 0 };
    char text[LIST_BYTES];
    if (!rp_env_squeeze(input->text, text, sizeof(text))) {
        return rp_env_reject(input);
    }
    char *rest = text;
    filter.exclude = *rest == '^';
    rest += filter.exclude;
    filter.exact = *rest == '=';
    rest += filter.exact;
    for (char *name = rp_env_cut(&rest, ','); name != NULL; name = rp_env_cut(&rest, ',')) {
        if (name[0] == '\0') {
            return rp_env_complain(
                    input, RP_ENV_BAD, "an empty interface name, or a comma at either end");
        }
        if (filter.count == RP_ENV_IFNAMES_MAX) {
            return rp_env_complain(
                    input, RP_ENV_BAD, "more than %d interface names", RP_ENV_IFNAMES_MAX);
        }
        if (!rp_text_copy(filter.name[filter.count], RP_ENV_IFNAME_MAX, name)) {
            return rp_env_complain(input, RP_ENV_BAD,
                    "\"%s\" is longer than the %d characters of "
                    "an interface name",
                    name, RP_ENV_IFNAME_MAX - 1);
        }
        filter.count++;
    }
    *(struct rp_ifname_filter *)field = filter;
    return RP_ENV_TAKEN;
}

int rp_ifname_match(const struct rp_ifname_filter *filter, const char *ifname)
{
    for (uint32_t i = 0; i < filter->count; i++) {
        const char *name = filter->name[i];
        bool same = filter->exact ? strcmp(name, ifname) == 0
                                  : strncmp(name, ifname, strlen(name)) == 0;
        if (same) {
            return filter->exclude ? -1 : (int)i;
        }
    }
    return filter->count == 0 || filter->exclude ? 0 : -1;
}

static bool parse_range(char *part, struct rp_port_range *range)
{
    char *last = part;
    char *first = rp_env_cut(&last, '-');
    uint64_t low;
    uint64_t high;
    if (!rp_env_number(first, strlen(first), 1, PORT_MAX, &low)) {
        return false;
    }
    high = low;
    if (last != NULL && !rp_env_number(last, strlen(last), low, PORT_MAX, &high)) {
        return false;
    }
    *range = (struct rp_port_range){ .first = (uint16_t)low, .last = (uint16_t)high };
    return true;
}

enum rp_env_outcome rp_env_parse_ports(const struct rp_env_input *input, void *field)
{
    struct rp_port_list list = { 0 };
    char text[LIST_BYTES];
    if (!rp_env_squeeze(input->text, text, sizeof(text))) {
        return rp_env_reject(input);
    }
    if (strcmp(text, "auto") == 0) {
        *(struct rp_port_list *)field = list;
        return RP_ENV_TAKEN;
    }
    char *rest = text;
    for (char *part = rp_env_cut(&rest, ','); part != NULL; part = rp_env_cut(&rest, ',')) {
        struct rp_port_range range;
        if (!parse_range(part, &range)) {
            return rp_env_reject(input);
        }
        for (uint32_t i = 0; i < list.count; i++) {
            struct rp_port_range other = list.range[i];
            unsigned twice = range.first > other.first ? range.first : other.first;
            if (twice <= range.last && twice <= other.last) {
                return rp_env_complain(input, RP_ENV_BAD, "port %u stands in it twice", twice);
            }
        }
        if (list.count == RP_ENV_PORTS_MAX) {
            return rp_env_complain(
                    input, RP_ENV_BAD, "more than %d ports and ranges", RP_ENV_PORTS_MAX);
        }
        list.range[list.count++] = range;
    }
    *(struct rp_port_list *)field = list;
    return RP_ENV_TAKEN;
}
