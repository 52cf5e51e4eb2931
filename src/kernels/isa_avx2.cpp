// The AVX2 unit (with FMA and F16C).
