// Batches of sends and receives against what each message must hold; and what ends a send or a
// receive that finds no match: another call, time, a death, an abort.

#include "support/messages.h"

#include <signal.h>

enum { MESSAGES_MAX = 48, BYTES_MAX = 300000 };

// ---- random batches ----

// The messages of one round, the same list on all ranks. Each rank puts its part into one batch,
// in the order of the list.
struct mail {
    unsigned from, to;
    size_t bytes;
};

// Less than `bound`, and the same on all ranks.
static unsigned draw(uint64_t *number, unsigned bound)
{
    return word(0, 41, (size_t)++ * number) % bound;
}

static unsigned make_mail(const struct rank *rank, uint64_t *number, struct mail *mail)
{
    const unsigned count = 1 + draw(number, MESSAGES_MAX - 1);
    for (unsigned m = 0; m < count; m++) {
        mail[m].from = draw(number, rank->count);
        mail[m].to = draw(number, rank->count);
        mail[m].bytes = draw(number, draw(number, 4) == 0 ? BYTES_MAX : 200);
    }
    return count;
}

struct post {
    uint8_t *out[MESSAGES_MAX], *in[MESSAGES_MAX];
    HcclSendRecvItem item[2 * MESSAGES_MAX];
    unsigned items;
};

static void fill_post(
        const struct rank *rank, const struct mail *mail, unsigned count, struct post *post)
{
    post->items = 0;
    for (unsigned m = 0; m < count; m++) {
        if (mail[m].from == rank->id) {
            post->item[post->items++] = (HcclSendRecvItem){ HCCL_SEND, post->out[m], mail[m].bytes,
                HCCL_DATA_TYPE_INT8, mail[m].to };
        }
        if (mail[m].to == rank->id) {
            post->item[post->items++] = (HcclSendRecvItem){ HCCL_RECV, post->in[m], mail[m].bytes,
                HCCL_DATA_TYPE_INT8, mail[m].from };
        }
    }
}

static void load_post(const struct rank *rank, const struct mail *mail, unsigned count,
        const struct post *post, uint64_t round)
{
    for (unsigned m = 0; m < count; m++) {
        message_write(post->out[m], rank->id, mail[m].to, round * MESSAGES_MAX + m,
                mail[m].from == rank->id ? mail[m].bytes : 0);
        memset(post->in[m], 0xa5, mail[m].bytes + 1);
    }
}

static void check_post(const struct rank *rank, const struct mail *mail, unsigned count,
        const struct post *post, uint64_t round, const char *when)
{
    for (unsigned m = 0; m < count; m++) {
        if (mail[m].to == rank->id) {
            message_check(post->in[m], mail[m].from, rank->id, round * MESSAGES_MAX + m,
                    mail[m].bytes, when);
        }
        must_hold(post->in[m][mail[m].to == rank->id ? mail[m].bytes : 0] == 0xa5,
                "%s: message %u is too long", when, m);
    }
}

static void random_rank(struct rank *rank)
{
    struct mail mail[MESSAGES_MAX];
    static _Thread_local struct post post;
    rank_open(rank);
    for (unsigned m = 0; m < MESSAGES_MAX; m++) {
        post.out[m] = message_room(BYTES_MAX, m % 5);
        post.in[m] = message_room(BYTES_MAX + 1, m % 3);
    }
    uint64_t number = rank->count * UINT64_C(1000000);
    for (uint64_t c = 0; c < soak_rounds(6, 60); c++) {
        const unsigned count = make_mail(rank, &number, mail);
        fill_post(rank, mail, count, &post);
        load_post(rank, mail, count, &post, 0);
        must(HcclBatchSendRecv(post.item, post.items, rank->comm, rank->stream));
        must(aclrtSynchronizeStream(rank->stream));
        check_post(rank, mail, count, &post, 0, "eager");
        capture_begin(rank->stream);
        must(HcclBatchSendRecv(post.item, post.items, rank->comm, rank->stream));
        aclmdlRI graph = capture_end(rank->stream);
        memset(post.item, 0, sizeof(post.item)); // they were copied
        for (uint64_t round = 1; round < 6; round++) {
            load_post(rank, mail, count, &post, round);
            replay(graph, rank->stream);
            must(aclrtSynchronizeStream(rank->stream));
            check_post(rank, mail, count, &post, round, "replayed");
        }
        must(aclmdlRIDestroy(graph));
    }
    rank_close(rank);
}

Test(batch, delivers_random_mail)
{
    for (unsigned ranks = 1; ranks <= 8; ranks++) {
        const struct rank_job job = { .ranks = ranks,
            .mode = ranks % 2 != 0 ? RANK_THREADS : RANK_PROCESSES,
            .fn = random_rank,
            .env = HOST_TS };
        assert_job(&job, "%u ranks", ranks);
    }
}

// Rank 0 sends many pieces to 1 and receives from 2 in one batch; 2 sends only after 1 has told it
// that all of the first message is there.
static void apart_rank(struct rank *rank)
{
    rank_open(rank);
    uint8_t *out = message_room(BYTES_MAX * 8, 0), *in = message_room(BYTES_MAX * 8, 0);
    uint8_t *token = message_room(1, 0);
    const HcclDataType type = HCCL_DATA_TYPE_INT8;
    message_write(out, rank->id, (rank->id + 1) % 3, 0, BYTES_MAX * 8);
    if (rank->id == 0) {
        HcclSendRecvItem items[] = { { HCCL_RECV, in, BYTES_MAX, type, 2 },
            { HCCL_SEND, out, BYTES_MAX * 8, type, 1 } };
        must(HcclBatchSendRecv(items, 2, rank->comm, rank->stream));
    } else if (rank->id == 1) {
        must(HcclRecv(in, BYTES_MAX * 8, type, 0, rank->comm, rank->stream));
        must(HcclSend(token, 1, type, 2, rank->comm, rank->stream));
    } else {
        must(HcclRecv(token, 1, type, 1, rank->comm, rank->stream));
        must(HcclSend(out, BYTES_MAX, type, 0, rank->comm, rank->stream));
    }
    must(aclrtSynchronizeStream(rank->stream));
    if (rank->id != 2) {
        message_check(in, (rank->id + 2) % 3, rank->id, 0,
                rank->id == 0 ? BYTES_MAX : BYTES_MAX * 8, "apart");
    }
    rank_close(rank);
}

Test(batch, items_do_not_wait_for_one_another)
{
    const struct rank_job job = { .ranks = 3, .fn = apart_rank, .env = HOST_TS };
    assert_job(&job, "apart");
}

static void batch_arguments_rank(struct rank *rank)
{
    rank_open(rank);
    const HcclComm comm = rank->comm;
    const aclrtStream stream = rank->stream;
    uint8_t *buffer = message_room(64, 0);
    const HcclDataType type = HCCL_DATA_TYPE_INT8;
    HcclSendRecvItem item = { HCCL_SEND, NULL, 3, type, 77 };
    must(HcclBatchSendRecv(NULL, 0, NULL, NULL));
    must_be(HcclBatchSendRecv(NULL, 1, comm, stream), HCCL_E_PTR);
    must_be(HcclBatchSendRecv(&item, 1, NULL, stream), HCCL_E_PTR);
    must_be(HcclBatchSendRecv(&item, 1, comm, NULL), HCCL_E_PTR);
    must(HcclBatchSendRecv(&item, 1, comm, stream)); // no buffer: skipped
    item.buf = buffer;
    must_be(HcclBatchSendRecv(&item, 1, comm, stream), HCCL_E_PARA);
    must_hold(strstr(rank_error_text(), "item 0") != NULL, "the item is not named");
    item.remoteRank = 0;
    item.dataType = (HcclDataType)99;
    must_be(HcclBatchSendRecv(&item, 1, comm, stream), HCCL_E_NOT_SUPPORT);
    item.dataType = type;
    item.sendRecvType = (HcclSendRecvType)2;
    must_be(HcclBatchSendRecv(&item, 1, comm, stream), HCCL_E_PARA);
    must(aclrtSynchronizeStream(stream));
    rank_close(rank);
}

Test(batch, checks_its_arguments_in_order)
{
    const struct rank_job job = { .ranks = 1, .fn = batch_arguments_rank, .env = HOST_TS };
    assert_job(&job, "arguments");
}

// ---- what ends a wait ----

static void expect_failed(
        struct rank *rank, aclError error, aclError expected, const char *word, const char *other)
{
    const char *text = rank_error_text();
    must_hold(error == expected, "rank %u: the answer is %d: %s", rank->id, (int)error, text);
    must_hold(strstr(text, word) != NULL && strstr(text, other) != NULL,
            "rank %u: not \"%s\" and \"%s\": \"%s\"", rank->id, word, other, text);
}

static void mismatch_rank(struct rank *rank)
{
    const bool captured = rank->arg != NULL;
    rank_open(rank);
    uint8_t *buffer = message_room(64, 0);
    if (captured) {
        capture_begin(rank->stream);
    }
    if (rank->id == 0) {
        must(HcclSend(buffer, 5, HCCL_DATA_TYPE_FP32, 1, rank->comm, rank->stream));
    } else {
        must(HcclRecv(buffer, 7, HCCL_DATA_TYPE_INT8, 0, rank->comm, rank->stream));
    }
    if (captured) {
        replay(capture_end(rank->stream), rank->stream);
    }
    expect_failed(rank, aclrtSynchronizeStream(rank->stream), ACL_ERROR_RT_INTERNAL_ERROR,
            "rank 0 sends 5 fp32 to rank 1", "rank 1 receives 7 int8 from rank 0");
    HcclResult later = HCCL_SUCCESS;
    must(HcclGetCommAsyncError(rank->comm, &later));
    must_hold(later == HCCL_E_PARA, "the asynchronous error is %d", (int)later);
    must_be(HcclSend(buffer, 1, HCCL_DATA_TYPE_INT8, 0, rank->comm, rank->stream), HCCL_E_PARA);
    rank_close(rank);
}

Test(batch, ends_that_differ_are_told_on_both)
{
    for (int mode = RANK_PROCESSES; mode <= RANK_THREADS; mode++) {
        for (int captured = 0; captured < 2; captured++) {
            const struct rank_job job = { .ranks = 2,
                .mode = (enum rank_mode)mode,
                .fn = mismatch_rank,
                .arg = captured ? "captured" : NULL,
                .env = HOST_TS };
            assert_job(&job, "mode %d, %s", mode, captured ? "captured" : "eager");
        }
    }
}

static void late_rank(struct rank *rank)
{
    rank_open(rank);
    uint8_t *buffer = message_room(64, 0);
    if (rank->id == 0) {
        must(HcclSend(buffer, 5, HCCL_DATA_TYPE_FP32, 1, rank->comm, rank->stream));
        expect_failed(rank, aclrtSynchronizeStream(rank->stream), 107020, "sends 5 fp32 to rank 1",
                "has called 0 receives");
    }
    rank_barrier(rank);
    rank_close(rank);
}

Test(batch, a_send_without_a_receive_ends_when_the_time_is_up)
{
    const struct rank_job job = { .ranks = 2,
        .fn = late_rank,
        .env = ENV("HCCL_EXEC_TIMEOUT=1", "HCCL_OP_EXPANSION_MODE=HOST_TS", "HCCL_BUFFSIZE=4") };
    assert_job(&job, "late");
}

static void death_rank(struct rank *rank)
{
    rank_open(rank);
    uint8_t *buffer = message_room(64, 0);
    rank_barrier(rank);
    if (rank->id == 1) {
        rank_sleep_us(50000);
        rank_die(rank);
    }
    // Rank 2 waits for rank 0, which is well and does not come: it hears of the death, too.
    must(HcclRecv(buffer, 5, HCCL_DATA_TYPE_FP32, rank->id == 0 ? 1 : 0, rank->comm, rank->stream));
    expect_failed(rank, aclrtSynchronizeStream(rank->stream), 507057, "rank 1", "receives 5 fp32");
    rank_close(rank);
}

Test(batch, a_death_ends_every_wait)
{
    const struct rank_job job = { .ranks = 3, .fn = death_rank, .env = HOST_TS };
    assert_job(&job, "death");
}

// What was numbered and never runs would keep its peer waiting.
static void aborted_rank(struct rank *rank)
{
    rank_open(rank);
    uint8_t *buffer = message_room(64, 0);
    const unsigned peer = 1 - rank->id;
    must(HcclRecv(buffer, 5, HCCL_DATA_TYPE_FP32, peer, rank->comm, rank->stream));
    must(HcclSend(buffer, 5, HCCL_DATA_TYPE_FP32, peer, rank->comm, rank->stream));
    rank_barrier(rank);
    if (rank->id == 1) {
        (void)aclrtStreamAbort(rank->stream);
    } else {
        must_hold(aclrtSynchronizeStream(rank->stream) != ACL_SUCCESS, "nothing was sent");
    }
    HcclResult later = HCCL_SUCCESS;
    must(HcclGetCommAsyncError(rank->comm, &later));
    must_hold(later != HCCL_SUCCESS, "the communicator is well");
    rank_close(rank);
}

Test(batch, an_aborted_stream_ends_its_peers_wait)
{
    const struct rank_job job = { .ranks = 2, .fn = aborted_rank, .env = HOST_TS };
    assert_job(&job, "aborted");
}
