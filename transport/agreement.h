#ifndef REPRISE_TRANSPORT_AGREEMENT_H
#define REPRISE_TRANSPORT_AGREEMENT_H

/*
 * What all ranks of a communicator must have set alike, as pairs of name and
 * text. Each rank sends its list with its hello; the root compares the digests
 * and, where they differ, finds the pair to name: "HCCL_BUFFSIZE differs: 200
 * MiB on rank 0, 100 MiB on rank 3".
 *
 * The layout of shared memory is one of the pairs, so ranks that run different
 * versions of the library find out here and not in a crash.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "transport/comm.h"
#include "transport/wire.h"

#define RP_SETTINGS_MAX 12
#define RP_SETTING_NAME_BYTES 40
#define RP_SETTING_VALUE_BYTES 256
#define RP_AGREEMENT_DIGEST_BYTES 32

struct rp_setting {
    char name[RP_SETTING_NAME_BYTES];
    char value[RP_SETTING_VALUE_BYTES];
};

struct rp_agreement {
    uint32_t count;
    struct rp_setting setting[RP_SETTINGS_MAX];
};

/** rp_agreement_from: the list of a rank with these settings. */
void rp_agreement_from(const struct rp_comm_settings *settings, struct rp_agreement *out);

/** rp_agreement_add_ranks: the members of a sub-communicator, as text. */
void rp_agreement_add_ranks(struct rp_agreement *agreement, const char *ranks);

/** rp_agreement_digest: equal for equal lists. */
void rp_agreement_digest(
        const struct rp_agreement *agreement, uint8_t out[RP_AGREEMENT_DIGEST_BYTES]);

void rp_agreement_write(const struct rp_agreement *agreement, struct rp_writer *writer);
void rp_agreement_read(struct rp_reader *reader, struct rp_agreement *out);

/**
 * rp_agreement_difference: false when the lists are equal; otherwise a sentence that names the
 * first setting that differs, both values and both ranks.
 */
bool rp_agreement_difference(const struct rp_agreement *a, uint32_t rank_a,
        const struct rp_agreement *b, uint32_t rank_b, char *sentence, size_t bytes);

#endif
