/*
 * Staged ops: rounds through windows (kernels/aiv_staged.c). Each rank has a window-in and a window-out of PARTS parts;
 * round t, counted through all ops, uses part t % PARTS. A rank's three stages run in any order that their rules allow:
 *
 *   fill     own piece into the own window-in, then arrived = t
 *   fold     read all windows-in, then done = t; S: read the own slice of all, store it into all windows-out
 *   collect  S: read the own window-out
 *
 * Knobs: FILLWAIT: 0 fills without waiting for the peers' done. COLLECTWAIT: 0 collects without it. FOLDWAIT: 0 folds
 * without their arrived. AHEAD: rounds that a rank fills before the first of them is finished; more than PARTS is wrong.
 */
#ifndef NR
#define NR 2
#endif
#ifndef NOPS
#define NOPS 3
#endif
#ifndef ROUNDS
#define ROUNDS 2        /* most rounds of an op; the op chooses, the same on all ranks */
#endif
#ifndef PARTS
#define PARTS 2
#endif
#ifndef AHEAD
#define AHEAD 2
#endif
#ifndef FILLWAIT
#define FILLWAIT 1
#endif
#ifndef FOLDWAIT
#define FOLDWAIT 1
#endif
#ifndef COLLECTWAIT
#define COLLECTWAIT 1
#endif

#define A 1             /* every rank reads all windows-in */
#define S 2             /* sliced all-reduce: goes through windows-out */
#define B 3             /* broadcast: the root fills, the others read it alone and do not announce their rounds */

typedef parts { byte v[PARTS] };
typedef slices { parts from[NR] };

byte typ[NOPS + 1];
byte root[NOPS + 1];
byte rounds[NOPS + 1];

/* shared memory */
byte arrived[NR];
byte done[NR];
parts win[NR];          /* the round that the part was filled for */
slices wout[NR];        /* from[r].v[p]: the round that rank r stored its slice for */
byte collected[NR];     /* ghost: last round whose window-out the owner has read */

#if NR == 2
#define EVERY(cnt, x) (cnt[1 - me] >= (x))
#else
#define EVERY(cnt, x) (cnt[(me + 1) % NR] >= (x) && cnt[(me + 2) % NR] >= (x))
#endif

inline pick(i) {
	if
	:: typ[i] == 0 ->
		if
		:: typ[i] = A
		:: typ[i] = S
		:: typ[i] = B; root[i] = 0
		:: typ[i] = B; root[i] = NR - 1
		fi;
		rounds[i] = 1;
		do
		:: rounds[i] < ROUNDS -> rounds[i]++
		:: break
		od
	:: else
	fi
}

#define NUMBER(n) (base + 1 + (n))
#define PART(n) (NUMBER(n) % PARTS)
#define SILENT (typ[i] == B && root[i] != me)
#define READS(q) (typ[i] != B || (root[i] == q && me != q))

#if FILLWAIT
#define MAYFILL (SILENT || NUMBER(filled) <= PARTS || EVERY(done, NUMBER(filled) - PARTS))
#else
#define MAYFILL true
#endif
#if FOLDWAIT
#define MAYFOLD ((typ[i] != B && EVERY(arrived, NUMBER(folded))) || (typ[i] == B && root[i] == me) || \
	(SILENT && arrived[root[i]] >= NUMBER(folded)))
#else
#define MAYFOLD true
#endif
#if COLLECTWAIT
#define MAYCOLLECT (typ[i] != S || EVERY(done, NUMBER(round)))
#else
#define MAYCOLLECT true
#endif

proctype rank(byte me) {
	byte i = 1, base, filled, folded, round, q;

	do
	:: i > NOPS -> break
	:: i <= NOPS ->
		atomic { pick(i); filled = 0; folded = 0; round = 0 }
		do
		:: round == rounds[i] -> break
		:: filled < rounds[i] && filled - round < AHEAD && MAYFILL ->
			if
			:: SILENT
			:: !SILENT ->
				win[me].v[PART(filled)] = NUMBER(filled);
				arrived[me] = NUMBER(filled)
			fi;
			filled++
		:: folded < filled && MAYFOLD ->
			q = 0;
			do
			:: q == NR -> break
			:: atomic { q < NR && READS(q) ->
				assert(win[q].v[PART(folded)] == NUMBER(folded));
				q++ }
			:: q < NR && !READS(q) -> q++
			od;
			q = 0;
			do
			:: q == NR || typ[i] != S -> break
			:: atomic { q < NR && typ[i] == S ->
				assert(collected[q] >= wout[q].from[me].v[PART(folded)]);
				wout[q].from[me].v[PART(folded)] = NUMBER(folded);
				q++ }
			od;
			q = 0;
			done[me] = NUMBER(folded);
			folded++
		:: round < folded && MAYCOLLECT ->
			q = 0;
			do
			:: q == NR || typ[i] != S -> break
			:: atomic { q < NR && typ[i] == S ->
				assert(wout[me].from[q].v[PART(round)] == NUMBER(round));
				q++ }
			od;
			atomic {
				q = 0;
				if
				:: typ[i] == S -> collected[me] = NUMBER(round)
				:: else
				fi;
				round++
			}
		od;
		atomic { base = base + rounds[i]; i++ }
	od
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
