/*
 * Taking a failed communicator into use again (kernels/line_restart.h, transport/comm_resume.c).
 *
 * Every rank goes through EPOCHS epochs. In each it runs one operator, announced by `arrived` and
 * with one signal to every peer; but for the last epoch it may give up anywhere in it, which its
 * peers see and give up, too, or miss because they are through. Then all resume. In use, a rank
 * finds nothing of another epoch: no counter, no signal, no error; nobody is stuck; and the last
 * epoch's operator ends well everywhere.
 *
 * Knobs that break a rule:
 *   QUIETWAIT=0  a rank cleans what it owns before all are quiet
 *   CLEANWAIT=0  a rank goes into use before all are clean
 *   FORGET=0     the signals taken of the peers are not forgotten
 *   SIGNALS=0    the owner does not clean its signals
 *   ERRORS=0     the owner does not clean its error
 */

#ifndef NR
#define NR 2
#endif
#ifndef EPOCHS
#define EPOCHS 3
#endif
#ifndef QUIETWAIT
#define QUIETWAIT 1
#endif
#ifndef CLEANWAIT
#define CLEANWAIT 1
#endif
#ifndef FORGET
#define FORGET 1
#endif
#ifndef SIGNALS
#define SIGNALS 1
#endif
#ifndef ERRORS
#define ERRORS 1
#endif

#define UNIT 4 /* from one base to the next */

byte word[NR];
byte arrived[NR];
bool failed[NR];
byte failed_in[NR]; /* the epoch; for the assertions alone */
byte sent[NR * NR]; /* [to * NR + from] */

inline await_word()
{
    q = 0;
    do
    :: q < NR -> word[q] >= word[me]; q++
    :: else -> break
    od
}

/* Gives up, or goes on. */
inline perhaps()
{
    if
    :: true
    :: epoch < EPOCHS - 1 && well -> well = false
    fi
}

inline await_peer()
{
    atomic {
        (arrived[q] >= base + 1 || failed[q]) ->
        assert(arrived[q] == base || arrived[q] == base + 1);
        assert(!failed[q] || failed_in[q] == epoch);
        if
        :: arrived[q] < base + 1 -> well = false
        :: else
        fi
    }
    if
    :: well ->
        atomic {
            (sent[me * NR + q] != taken[q] || failed[q]) ->
            assert(!failed[q] || failed_in[q] == epoch);
            if
            :: sent[me * NR + q] != taken[q] ->
                assert(sent[me * NR + q] == taken[q] + 1);
                taken[q]++
            :: else -> well = false
            fi
        }
    :: else
    fi
}

inline operator()
{
    well = true;
    perhaps();
    if
    :: well -> arrived[me] = base + 1
    :: else
    fi;
    q = 0;
    do
    :: q < NR && well ->
        if
        :: q != me -> sent[q * NR + me]++
        :: else
        fi;
        q++
    :: else -> break
    od;
    perhaps();
    q = 0;
    do
    :: q < NR && well ->
        if
        :: q != me -> await_peer()
        :: else
        fi;
        q++
    :: else -> break
    od
}

inline clean()
{
    arrived[me] = base + UNIT;
    if
    :: ERRORS -> failed[me] = false
    :: else
    fi;
    q = 0;
    do
    :: q < NR ->
        if
        :: SIGNALS -> sent[me * NR + q] = 0
        :: else
        fi;
        q++
    :: else -> break
    od
}

proctype rank(byte me)
{
    byte epoch = 0;
    byte base = UNIT;
    byte q;
    byte taken[NR];
    bool well;
    do
    :: operator();
        if
        :: epoch == EPOCHS - 1 -> break
        :: else
        fi;
        atomic {
            failed_in[me] = epoch;
            failed[me] = true
        };
        word[me]++; /* quiet */
        if
        :: QUIETWAIT -> await_word()
        :: else
        fi;
        clean();
        word[me]++; /* clean */
        if
        :: CLEANWAIT -> await_word()
        :: else
        fi;
        q = 0;
        do
        :: q < NR ->
            if
            :: FORGET -> taken[q] = 0
            :: else
            fi;
            q++
        :: else -> break
        od;
        base = base + UNIT;
        epoch++
    od;
    assert(well)
}

init
{
    byte i = 0;
    atomic {
        do
        :: i < NR -> arrived[i] = UNIT; i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < NR -> run rank(i); i++
        :: else -> break
        od
    }
}
