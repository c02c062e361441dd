// expect: load reads an In argument of the program, as in load(a.q): its kernel takes Args<traced> a
#include "program.h"
void wrong(Args<bound> a) { load(a.q); }
