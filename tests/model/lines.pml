/*
 * Lines, counters and zero copy: the fused kernels' protocol of one communicator, in Promela.
 *
 * Memory is sequentially consistent here; doorbell.pml looks at the one place where it must not be assumed.
 * Every rule of design.md that can be broken on purpose has a knob. Without any -D the model is the
 * CORRECTED protocol. README.md lists the runs and what each must answer.
 */
#ifndef NR
#define NR 3            /* ranks */
#endif
#ifndef NOPS
#define NOPS 3          /* operators, each one of T B R L, the same on all ranks */
#endif
#ifndef LINES
#define LINES 2         /* lines (or slots) a rank has for alternating payloads */
#endif
#ifndef FUSE
#define FUSE 2          /* most operators that one store of `arrived` announces; each rank chooses */
#endif
#ifndef FUSEWHAT
#define FUSEWHAT 0      /* 0: any neighbours; 1: zero-copy neighbours only */
#endif
#ifndef SAMELINE
#define SAMELINE 0      /* 1: one announcement may cover two exchanges that use the same line */
#endif
#ifndef FAULTS
#define FAULTS 0        /* aborts and deaths, any rank, any step */
#endif
#ifndef LINEWAIT
#define LINEWAIT 3      /* before line k is written, every peer has been seen with
                           0: nothing   1: arrived >= k-1, looked at once an announcement
                           2: arrived >= k-1, looked at for each operator announced
                           3: done >= the exchange that used this line last (corrected)
                           4: done >= k-LINES, whether or not that operator used the line */
#endif
#ifndef REVOKE
#define REVOKE 2        /* a failure revokes 0: nothing  1: the op that failed  2: all announced and incomplete */
#endif
#ifndef RECHECK
#define RECHECK 1       /* 1: look for revocations after the last access too, before `done` (corrected) */
#endif
#ifndef HOLD
#define HOLD 1          /* 1: memory waits for done, acknowledged or dead; 0: reused at once */
#endif
#ifndef UNARRIVED
#define UNARRIVED 1     /* memory waits no longer for a peer that 0: has failed or is done only
                           1: is seen, after the revocation, not to have announced the op (corrected)
                           2: was seen not to have announced it, before the revocation */
#endif
#ifndef REREAD
#define REREAD 1        /* 1: a death or a leave counts after the counter has been read once more */
#endif
#ifndef QUARANTINE
#define QUARANTINE 1    /* 1: lines are reused when every member has left or died; 0: at once */
#endif
#ifndef DONEWAIT
#define DONEWAIT 1      /* 1: the wait for `done` comes before the buffer is touched or announced again
                           2: it comes before that op's own turn, after the announcement; 0: never */
#endif
#ifndef DEFER
#define DEFER 1         /* 1: a rank may put the wait for `done` off */
#endif
#ifndef PUBDONE
#define PUBDONE 1       /* 1: every op publishes `done`; 2: only zero-copy ops do; 0: nobody does */
#endif
#ifndef ARRIVEWAIT
#define ARRIVEWAIT 1    /* 0: peers' data is touched without waiting for `arrived` */
#endif

#ifndef DIGEST
#define DIGEST 1        /* 1: every op of every rank puts its digest into its line, zero copy and rooted ones too */
#endif
#ifndef STAMP
#define STAMP 0         /* the first op's line carries the pairing stamp, needed before the first zero-copy access.
                           0: no stamps   1: a rank looks at it when it needs it
                           2: every rank waits for and reads every stamp in the first op (corrected) */
#endif
#ifndef COARSE
#define COARSE 0        /* 1: a rank's reads of all peers are one step, and so are its stores (fewer states) */
#endif
#ifndef LEAVE
#define LEAVE 1         /* 0: without the part after the last op (fewer states) */
#endif

#define T 1             /* tiny all-reduce: everybody writes a line, everybody reads all */
#define B 2             /* tiny broadcast: the root writes and waits for nobody */
#define R 3             /* tiny reduce: the root reads all; the others wait for nobody */
#define L 4             /* large all-reduce, zero copy, in place, rank i owns slice i */
#ifndef TYPES
#define TYPES 15        /* bit T-1, B-1, R-1, L-1 */
#endif
#define ABORT 1
#define DEATH 2
#define ALL ((1 << NR) - 1)

typedef two { byte v[2] };
typedef row { byte v[NOPS + 1] };
typedef ring { byte v[LINES] };

byte typ[NOPS + 1];     /* the program, chosen lazily by whoever gets there first */
byte root[NOPS + 1];

/* shared memory */
byte arrived[NR];
byte done[NR];
ring line[NR];          /* payload: the number of the exchange that it was written for */
byte revlo[NR];         /* records revoked: revlo..revhi; none while revhi is 0 */
byte revhi[NR];
bool err[NR];           /* this rank's communicator is in error, and it touches nobody any more: the acknowledgement */
bool left[NR];
bool gone[NR];          /* the pidfd says so */
row bufof[NR];          /* record: which user buffer the op names */

/* user memory and ghosts */
two tag[NR];            /* the op whose data the buffer holds; 0: the user has overwritten it */
two got[NR];            /* slices of the result that have been stored */
two rotten[NR];         /* a slice was computed from overwritten input */
two freed[NR];          /* reused for something else */
bool linefreed[NR];
byte budget = FAULTS;

#define writes(i) (DIGEST || (STAMP && i == 1) || typ[i] == T || (typ[i] == B && root[i] == me) || (typ[i] == R && root[i] != me))
#define needs(i, q) (q != me && ((STAMP == 2 && i == 1) || typ[i] == T || typ[i] == L || \
	(typ[i] == B && root[i] == q) || (typ[i] == R && root[i] == me)))
#define revoked(q, i) (revlo[q] <= i && i <= revhi[q])
#define failed(q) (err[q] || left[q] || gone[q])
#define PASSED(q, i) (done[q] >= i || err[q] || gone[q])
#define has(t) ((TYPES >> (t - 1)) & 1)

/* All peers' counters cover v; some peer has failed and will never cover v. A failed rank stores no counter any more,
   so reading the counter once more after the failure was seen is one step with seeing it. */
#if NR == 2
#define EVERY(cnt, v) (cnt[1 - me] >= (v))
#define NEVER(cnt, v) (failed(1 - me) && STALE(cnt, 1 - me, v))
#define REVOKED(i) (revoked(1 - me, i))
#else
#define EVERY(cnt, v) (cnt[(me + 1) % NR] >= (v) && cnt[(me + 2) % NR] >= (v))
#define NEVER(cnt, v) ((failed((me + 1) % NR) && STALE(cnt, (me + 1) % NR, v)) || \
	(failed((me + 2) % NR) && STALE(cnt, (me + 2) % NR, v)))
#define REVOKED(i) (revoked((me + 1) % NR, i) || revoked((me + 2) % NR, i))
#endif
#if REREAD
#define STALE(cnt, q, v) (cnt[q] < (v))
#else
#define STALE(cnt, q, v) true       /* the counter was read some time before the failure was seen */
#endif

#if FAULTS
#define MAYFAIL :: budget > 0 -> budget--; goto fail :: budget > 0 -> budget--; goto dead
#define STEP if MAYFAIL :: true fi;
#else
#define MAYFAIL
#define STEP
#endif

#define WAITALL(cnt, v) \
	if \
	:: EVERY(cnt, v) \
	:: NEVER(cnt, v) -> goto fail \
	MAYFAIL \
	fi
#define WAITONE(cnt, q, v) \
	if \
	:: cnt[q] >= (v) \
	:: failed(q) && STALE(cnt, q, v) -> goto fail \
	MAYFAIL \
	fi

/* Before the line of operator i is written. */
#if LINEWAIT == 1
#define WAITLINE WAITALL(arrived, k - 1);
#elif LINEWAIT == 2
#define WAITLINE WAITALL(arrived, i - 1);
#elif LINEWAIT == 3
#define WAITLINE WAITALL(done, line[me].v[i % LINES]);
#elif LINEWAIT == 4
#define WAITLINE WAITALL(done, (i > LINES -> i - LINES : 0));
#else
#define WAITLINE
#endif

/* Whether the memory that operator `used` (in buffer b) names need not wait for peer q. */
#if UNARRIVED == 1
#define NOT_COMING(q, used, b) || arrived[q] < used
#elif UNARRIVED == 2
#define NOT_COMING(q, used, b) || (early[b] & (1 << q))
#else
#define NOT_COMING(q, used, b)
#endif

inline pick(i) {
	if
	:: typ[i] == 0 ->
		if
		:: has(T) -> typ[i] = T
		:: has(B) -> typ[i] = B; root[i] = 0
		:: has(B) -> typ[i] = B; root[i] = NR - 1
		:: has(R) -> typ[i] = R; root[i] = 0
		:: has(L) -> typ[i] = L
		fi
	:: else
	fi
}

/* The wait for `done` of the op pending on buffer w; then that op is complete, and the next task overwrites the
   buffer. Runs inside an atomic. */
inline finish() {
	if
	:: pend[w] == 0
	:: pend[w] != 0 ->
#if DONEWAIT
		WAITALL(done, pend[w]);
#endif
		d_step {
			assert(tag[me].v[w] == pend[w]);
			assert(got[me].v[w] == ALL);
			assert(!rotten[me].v[w]);
			tag[me].v[w] = 0; got[me].v[w] = 0; pend[w] = 0
		}
	fi;
	w = 0
}

/* The next peer at or after q whose data operator i needs. */
inline seek() {
	do
	:: q < NR && !needs(i, q) -> q++
	:: else -> break
	od
}

/* One slice stored into q's output. */
#define STORE \
	b = bufof[q].v[i]; \
	assert(!freed[q].v[b]); \
	assert(tag[q].v[b] == i || err[q]); \
	if \
	:: tag[q].v[b] == i -> \
		got[q].v[b] = got[q].v[b] | (1 << me); \
		rotten[q].v[b] = rotten[q].v[b] | bad \
	:: else \
	fi; \
	b = 0

proctype rank(byte me) {
	byte k = 1, last, i, q, b, w, used;
	byte pend[2];
	bool bad, stamped;
#if UNARRIVED == 2
	byte early[2];
#endif

	do
	:: k > NOPS -> break
	:: k <= NOPS ->
		/* Plan one announcement: operators k..last, whose buffers on this rank differ. */
		atomic {
			used = 0; i = k; pick(i);
			do
			:: true ->
				if
				:: typ[i] == L ->
					if
					:: !(used & 1) -> b = 0
					:: !(used & 2) && (used != 0 || pend[0] != 0 || pend[1] != 0) -> b = 1    /* else the same as 0 */
					fi;
					used = used | (1 << b); bufof[me].v[i] = b
				:: else
				fi;
				last = i;
				if
				:: i < NOPS && i - k + 1 < FUSE && !(FUSEWHAT == 1 && typ[i] != L) ->
					pick(i + 1);
					if
					:: typ[i + 1] == L && used != 3 && (SAMELINE || !DIGEST || i + 1 < k + LINES) -> i++
					:: typ[i + 1] != L && FUSEWHAT == 0 && (SAMELINE ||
						i + 1 < k + LINES || (!DIGEST && typ[i + 1 - LINES] == L)) -> i++
					:: else -> break
					fi
				:: break
				fi
			od;
			i = k; used = 0; b = 0
		}
		/* Make it ready: fill user buffers, copy tiny payloads into lines. */
		do
		:: i > last -> break
		:: atomic { i <= last && typ[i] == L ->
			STEP
			w = bufof[me].v[i];
#if DONEWAIT == 2
			if
			:: i == k -> finish()
			:: else
			fi;
#else
			finish();
#endif
#if DIGEST
			WAITLINE
			line[me].v[i % LINES] = i;
#endif
			d_step {
				b = bufof[me].v[i];
				if
				:: pend[b] == 0 -> tag[me].v[b] = i; got[me].v[b] = 0; rotten[me].v[b] = 0
				:: else
				fi;
#if STAMP && !DIGEST
				if
				:: i == 1 -> line[me].v[1 % LINES] = 1
				:: else
				fi;
#endif
				b = 0; w = 0; i++
			} }
		:: atomic { i <= last && typ[i] != L ->
			if
			:: writes(i) ->
				STEP
				WAITLINE
				line[me].v[i % LINES] = i
			:: else
			fi;
			i++ }
		od;

		atomic { STEP arrived[me] = last; i = k }

		do
		:: i > last -> break
		:: i <= last ->
			/* Read what the peers have put up. */
#if DONEWAIT == 2
			atomic {
				if
				:: typ[i] == L && pend[bufof[me].v[i]] != 0 ->
					w = bufof[me].v[i]; finish();
					tag[me].v[bufof[me].v[i]] = i
				:: else
				fi
			}
#endif
			atomic { q = 0; bad = false; seek() }
again:			do
			:: q == NR -> break
			:: atomic { q < NR && typ[i] != L ->
#if ARRIVEWAIT
				WAITONE(arrived, q, i);
				if
				:: revoked(q, i) -> goto fail
				:: else
				fi;
#endif
				assert(!linefreed[q]);
				assert(line[q].v[i % LINES] == i);
				q++; seek() }
			:: atomic { q < NR && typ[i] == L ->
#if ARRIVEWAIT
				WAITONE(arrived, q, i);
				if
				:: revoked(q, i) -> goto fail
				:: else
				fi;
#endif
#if DIGEST
				assert(!linefreed[q]);
				assert(line[q].v[i % LINES] == i);
#endif
#if STAMP == 1
				assert(stamped || line[q].v[1 % LINES] == 1);
#elif STAMP == 2
				assert(i > 1 || line[q].v[1 % LINES] == 1);
#endif
				skip };
#if COARSE
				atomic { q++; seek();
				if
				:: q < NR -> goto again
				:: q == NR -> q = 0; seek()
				fi }
				d_step {
				do
				:: q == NR -> break
				:: else ->
					b = bufof[q].v[i];
					assert(!freed[q].v[b]);
					if
					:: tag[q].v[b] == i
					:: else -> assert(err[q]); bad = true
					fi;
					b = 0; q++;
					do
					:: q < NR && !needs(i, q) -> q++
					:: else -> break
					od
				od }
#else
				atomic {
				STEP
				b = bufof[q].v[i];
				assert(!freed[q].v[b]);
				if
				:: tag[q].v[b] == i
				:: else -> assert(err[q]); bad = true
				fi;
				b = 0; q++; seek() }
#endif
			od;
			if
			:: typ[i] == L ->
				stamped = true;
				/* Store the slice into every output. */
#if COARSE
				atomic {
				STEP
				q = 0;
				do
				:: q == NR -> break
				:: q < NR ->
					STORE;
					q++
				od
				}
#else
				q = 0;
				do
				:: q == NR -> break
				:: atomic { q < NR ->
					STEP
					STORE;
					q++ }
				od;
#endif
				atomic {
					STEP
#if RECHECK
					if
					:: REVOKED(i) -> goto fail
					:: else
					fi;
#endif
					pend[bufof[me].v[i]] = i; bad = false
				}
			:: typ[i] != L
			fi;
			atomic {
				STEP
				q = 0;
#if PUBDONE == 1
				done[me] = i;
#elif PUBDONE == 2
				if
				:: typ[i] == L -> done[me] = i
				:: else
				fi;
#endif
				w = (typ[i] == L -> bufof[me].v[i] : 2);
				/* Nobody looks at this operator any more: forget it, to have fewer states. */
				if
				:: PASSED(0, i) && PASSED(1, i) && PASSED(NR - 1, i) ->
					d_step {
						typ[i] = 0; root[i] = 0;
						bufof[0].v[i] = 0; bufof[1].v[i] = 0; bufof[NR - 1].v[i] = 0
					}
				:: else
				fi
			}
			if
			:: atomic { w < 2 ->
				if
#if DEFER
				:: w = 0
#endif
				:: finish()
				fi;
				i++ }
			:: atomic { w == 2 -> w = 0; i++ }
			fi
		od;
		atomic { k = last + 1; i = 0; last = 0 }
	od;
	atomic { w = 0; finish() }
	atomic { w = 1; finish() }
	goto good;

fail:
#if UNARRIVED == 2
	atomic {
		q = 0;
		do
		:: q == NR -> break
		:: else ->
			if
			:: arrived[q] < tag[me].v[0] -> early[0] = early[0] | (1 << q)
			:: else
			fi;
			if
			:: arrived[q] < tag[me].v[1] -> early[1] = early[1] | (1 << q)
			:: else
			fi;
			q++
		od
	}
#endif
	atomic {
		assert(budget < FAULTS);        /* nobody fails unless something has failed */
		/* k..arrived may be announced and incomplete, and so may the ops whose wait was put off. */
#if REVOKE == 1
		revlo[me] = (i >= k && i <= NOPS -> i : k); revhi[me] = revlo[me];
#elif REVOKE == 2
		revlo[me] = k;
		if
		:: pend[0] != 0 && pend[0] < revlo[me] -> revlo[me] = pend[0]
		:: else
		fi;
		if
		:: pend[1] != 0 && pend[1] < revlo[me] -> revlo[me] = pend[1]
		:: else
		fi;
		revhi[me] = NOPS;
#endif
		/* What has to wait before it is reused: the op named by each buffer. */
		used = tag[me].v[0]; b = tag[me].v[1];
#if REVOKE == 1
		if
		:: used != revlo[me] -> used = 0
		:: else
		fi;
		if
		:: b != revlo[me] -> b = 0
		:: else
		fi;
#endif
#if HOLD == 0
		used = 0; b = 0;
#endif
		pend[0] = 0; pend[1] = 0; i = 0; last = 0; w = 0; bad = false
	}
	/* Acknowledged; the error is out, and the user overwrites what he likes. */
	atomic { err[me] = true; tag[me].v[0] = 0; tag[me].v[1] = 0; q = 0 }
	do
	:: q == NR -> break
	:: atomic { q < NR ->
		if
		:: q == me || used == 0 || done[q] >= used || err[q] || gone[q] NOT_COMING(q, used, 0)
#if FAULTS
		:: budget > 0 -> budget--; goto dead
#endif
		fi;
		q++ }
	od;
	atomic { freed[me].v[0] = 1; q = 0 }
	do
	:: q == NR -> break
	:: atomic { q < NR ->
		if
		:: q == me || b == 0 || done[q] >= b || err[q] || gone[q] NOT_COMING(q, b, 1)
#if FAULTS
		:: budget > 0 -> budget--; goto dead
#endif
		fi;
		q++ }
	od;
	freed[me].v[1] = 1;

good:
	atomic { left[me] = true; k = 0; i = 0; q = 0; last = 0; used = 0; b = 0 }
#if LEAVE
	if
	:: atomic { gone[me] = true; goto out }         /* the process ends */
	:: true                                         /* or lives on and reuses the lines for another communicator */
	fi;
#if QUARANTINE
	do
	:: q == NR -> break
	:: atomic { q < NR -> (q == me || left[q] || gone[q]); q++ }
	od;
#endif
	linefreed[me] = true;
#endif
	goto out;

dead:
	atomic { gone[me] = true; k = 0; i = 0; q = 0; last = 0; used = 0; b = 0; w = 0; bad = false; pend[0] = 0; pend[1] = 0 }
out:
	skip
}

init {
	atomic {
		run rank(0);
		run rank(1);
#if NR > 2
		run rank(2)
#endif
	}
}
