// expect: the carried state is a Tile, or a struct declared by TESSERA_STRUCT whose fields are Tiles
#include "program.h"
struct Plain {
  Tile<f32, Query> sum, best;
};
void wrong(Mask mask) {
  over<Key>(mask, Plain{0, 0}, [](KeyTile, Plain s) { return s; });
}
