// expect: kernel values have no & | ^ ~ << >>: conditions combine with && || !, and bits of a position are arithmetic
#include "program.h"
void wrong(Tile<i32, Query> q) { q &= 1; }
