// expect: the carried state is a Tile, or a struct declared by TESSERA_STRUCT whose fields are Tiles
#include "program.h"

struct Plain {
  int count;
};
void wrong(Mask mask) {
  over<Key>(mask, Plain{0}, [](KeyTile, Plain s) { return s; });
}
