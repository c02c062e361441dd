// expect: kernel values have no & | ^ ~ << >>: conditions combine with && || !, and bits of a position are arithmetic
#include "program.h"
Mask wrong = [](Position q, Position k) { return ~q == k; };
