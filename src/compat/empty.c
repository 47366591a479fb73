/* rapidsnark keeps its field arithmetic in libfr.a and libfq.a, which link lines name. Ours is in
 * librapidsnark, so these two are archives of nothing. */
