// Keeps a loop of few rounds as it is written.
#pragma once

// Before a loop that has a handful of rounds, as many as its data say. clang unrolls and vectorises
// such a loop for thousands, and what it computes before the first round costs more than the
// rounds.
#ifdef __clang__
#define GZ_SHORT_LOOP _Pragma("clang loop vectorize(disable) interleave(disable) unroll(disable)")
#else
#define GZ_SHORT_LOOP
#endif
