/* Stands for stdin inside the static libraries. Debian's libjansson.a is not position-independent
 * in this one respect: json_loadf, which nobody here calls, takes the address of libc's variable in
 * a way that a shared object may not. cmake/CuzkLibraries.cmake renames it in a copy. */
extern void *const cuzk__no_stdin;
void *const cuzk__no_stdin = 0;
