#!/bin/sh
# An assembler that knows its version and refuses everything.
if [ "$1" = --version ]; then
  echo 'ptxas: NVIDIA (R) Ptx optimizing assembler'
  echo 'Cuda compilation tools, release 99.9, V99.9.9'
  echo 'Build tests'
  exit 0
fi
echo 'ptxas kernel.ptx, line 7; error   : Unknown modifier' >&2
exit 1
