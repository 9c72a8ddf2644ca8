// The syntax of HCCL_ALGO:
//
//     level0:NA;level1:ring                                      every operator
//     allreduce=level0:NA;level1:ring/broadcast=level1:H-D_R     the named operators
//
// Names are case-sensitive. What is not named stays adaptive. CANN takes only NA at level 0, within
// a server; here the algorithms of one level may be asked for there, too.

#include <string.h>

#include "base/env_table.h"

struct algo_word {
    const char *text;
    enum rp_algo_name name;
    unsigned levels; // bit l: allowed at level l
};

enum {
    INNER = 1 << 0,
    OUTER = 1 << 1 | 1 << 2 | 1 << 3,
    ANY = INNER | OUTER,
    SERVERS = 1 << 1,
    NEAR = INNER | SERVERS,
};

static const struct algo_word algorithms[] = {
    { "NA", RP_ALGO_NA, INNER },
    { "null", RP_ALGO_NULL, OUTER },
    { "ring", RP_ALGO_RING, ANY },
    { "H-D_R", RP_ALGO_HDR, ANY },
    { "NHR", RP_ALGO_NHR, ANY },
    { "NHR_V1", RP_ALGO_NHR_V1, SERVERS },
    { "NB", RP_ALGO_NB, ANY },
    { "AHC", RP_ALGO_AHC, SERVERS },
    { "AHC_BROKE", RP_ALGO_AHC_BROKE, SERVERS },
    { "pipeline", RP_ALGO_PIPELINE, ANY },
    { "pairwise", RP_ALGO_PAIRWISE, NEAR },
    { "fullmesh", RP_ALGO_FULLMESH, ANY },
    { "star", RP_ALGO_STAR, INNER },
};

static const char *const operators[RP_ALGO_OP_COUNT] = {
    [RP_ALGO_OP_ALLGATHER] = "allgather",
    [RP_ALGO_OP_REDUCESCATTER] = "reducescatter",
    [RP_ALGO_OP_ALLREDUCE] = "allreduce",
    [RP_ALGO_OP_BROADCAST] = "broadcast",
    [RP_ALGO_OP_REDUCE] = "reduce",
    [RP_ALGO_OP_SCATTER] = "scatter",
    [RP_ALGO_OP_ALLTOALL] = "alltoall",
    [RP_ALGO_OP_SEND] = "send",
    [RP_ALGO_OP_RECEIVE] = "receive",
    [RP_ALGO_OP_GATHER] = "gather",
    [RP_ALGO_OP_SENDRECV] = "sendrecv",
};

const char *rp_algo_name_text(enum rp_algo_name name)
{
    for (size_t i = 0; i < RP_ARRAY_LENGTH(algorithms); i++) {
        if (algorithms[i].name == name) {
            return algorithms[i].text;
        }
    }
    return "";
}

static enum rp_env_outcome parse_level(
        const struct rp_env_input *input, char *part, uint8_t levels[RP_ALGO_LEVELS])
{
    char *algorithm = part;
    char *level = rp_env_cut(&algorithm, ':');
    unsigned index = 0;
    if (algorithm == NULL) {
        return rp_env_complain(input, RP_ENV_BAD, "\"%s\" is not of the form level1:ring", level);
    }
    if (strncmp(level, "level", 5) == 0 && level[5] >= '0' && level[5] < '0' + RP_ALGO_LEVELS &&
            level[6] == '\0') {
        index = (unsigned)(level[5] - '0');
    } else {
        return rp_env_complain(
                input, RP_ENV_BAD, "\"%s\" is not level0 to level%d", level, RP_ALGO_LEVELS - 1);
    }
    if (levels[index] != RP_ALGO_ADAPTIVE) {
        return rp_env_complain(input, RP_ENV_BAD, "%s stands in it twice", level);
    }
    for (size_t i = 0; i < RP_ARRAY_LENGTH(algorithms); i++) {
        if (strcmp(algorithms[i].text, algorithm) == 0 && (algorithms[i].levels >> index & 1)) {
            levels[index] = (uint8_t)algorithms[i].name;
            return RP_ENV_TAKEN;
        }
    }
    return rp_env_complain(input, RP_ENV_BAD, "\"%s\" is no algorithm of %s", algorithm, level);
}

static enum rp_env_outcome parse_all_levels(
        const struct rp_env_input *input, char *text, uint8_t levels[RP_ALGO_LEVELS])
{
    char *rest = text;
    enum rp_env_outcome outcome = RP_ENV_TAKEN;
    while (outcome == RP_ENV_TAKEN && rest != NULL) {
        outcome = parse_level(input, rp_env_cut(&rest, ';'), levels);
    }
    return outcome;
}

static enum rp_env_outcome parse_operator(
        const struct rp_env_input *input, char *part, struct rp_algo_config *config)
{
    char *levels = part;
    char *name = rp_env_cut(&levels, '=');
    if (levels == NULL) {
        return rp_env_complain(input, RP_ENV_BAD, "\"%s\" names no operator, others do", name);
    }
    for (unsigned op = 0; op < RP_ALGO_OP_COUNT; op++) {
        if (strcmp(operators[op], name) != 0) {
            continue;
        }
        uint8_t none[RP_ALGO_LEVELS] = { 0 };
        if (memcmp(config->level[op], none, sizeof(none)) != 0) {
            return rp_env_complain(input, RP_ENV_BAD, "%s stands in it twice", name);
        }
        return parse_all_levels(input, levels, config->level[op]);
    }
    return rp_env_complain(input, RP_ENV_BAD, "\"%s\" is no operator", name);
}

enum rp_env_outcome rp_env_parse_algorithms(const struct rp_env_input *input, void *field)
{
    struct rp_algo_config config = { 0 };
    char text[RP_ENV_ALGO_MAX];
    if (!rp_env_squeeze(input->text, config.text, sizeof(config.text))) {
        return rp_env_complain(input, RP_ENV_BAD, "longer than %d characters", RP_ENV_ALGO_MAX - 1);
    }
    rp_text_copy(text, sizeof(text), config.text);
    enum rp_env_outcome outcome = RP_ENV_TAKEN;
    char *rest = text;
    if (strchr(text, '=') == NULL) {
        outcome = parse_all_levels(input, text, config.level[0]);
        for (unsigned op = 1; op < RP_ALGO_OP_COUNT; op++) {
            memcpy(config.level[op], config.level[0], sizeof(config.level[0]));
        }
    } else {
        while (outcome == RP_ENV_TAKEN && rest != NULL) {
            outcome = parse_operator(input, rp_env_cut(&rest, '/'), &config);
        }
    }
    if (outcome == RP_ENV_TAKEN) {
        *(struct rp_algo_config *)field = config;
    }
    return outcome;
}

rp_status rp_env_parse_algo(const char *name, const char *text, struct rp_algo_config *out)
{
    return rp_env_parse_text(name, text, rp_env_parse_algorithms, out);
}
