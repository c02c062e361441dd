#!/bin/sh
# A stand-in for ptxas that works when it is told to. Writes a line to $TESSERA_TEST_GATE/started, waits until there is a
# file $TESSERA_TEST_GATE/open, and gives the PTX back as what it assembled: the stand-in driver loads that.
if [ "$1" = --version ]; then
  echo 'ptxas: NVIDIA (R) Ptx optimizing assembler'
  echo 'Cuda compilation tools, release 13.0, V13.0.0'
  exit
fi
for argument; do
  case $argument in *.ptx) input=$argument ;; esac
  output=$argument
done
echo assembling >> "$TESSERA_TEST_GATE/started"
while [ ! -e "$TESSERA_TEST_GATE/open" ]; do sleep 0.01; done
cp "$input" "$output"
