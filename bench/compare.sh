#!/usr/bin/env bash
# Compares two commits by the Go benchmarks of the packages that a record passes.
#
#   bench/compare.sh COMMIT1 COMMIT2     for example: bench/compare.sh HEAD~3 HEAD
#   bench/compare.sh HEAD .              "." is the working tree as it is
#
#   BENCH=.          benchmarks to run (a regular expression)
#   COUNT=6          runs of each, the commits in turn       BENCHTIME=1s  how long one takes
#   PACKAGES         packages, as folders; those that a commit does not have are left out
#
# Each commit is checked out into a worktree of its own, under the temporary directory, and removed at the end. Nothing else
# should run meanwhile. A package without benchmarks costs nothing but its build.
set -euo pipefail
[ $# = 2 ] || { sed -n '2,13s/^# \{0,1\}//p' "$0" >&2; exit 2; }
benchstat=golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
cd "$(dirname "$0")/.."
root=$PWD
packages=${PACKAGES:-operators source sink pebblestate job job/yamljob job/yamljob/internal/row job/yamljob/internal/aggregate job/yamljob/internal/expression bench/weir}
bench=${BENCH:-.} count=${COUNT:-6} benchtime=${BENCHTIME:-1s}

dir=$(mktemp -d)
trees=()
cleanup() {
  for t in ${trees[@]+"${trees[@]}"}; do git -C "$root" worktree remove --force "$t"; done
  rm -rf "$dir"
}
trap cleanup EXIT

# tree NUMBER COMMIT: prints the folder that has the commit.
tree() {
  if [ "$2" = . ]; then echo "$root"; else echo "$dir/$1"; fi
}
n=0
for c in "$@"; do
  n=$((n + 1))
  t=$(tree $n "$c")
  if [ "$c" != . ]; then
    git worktree add --quiet --detach "$t" "$c"
    trees+=("$t")
  fi
  # Built before anything is measured; a package that has no tests at all makes no program.
  for p in $packages; do
    [ -d "$t/$p" ] || continue
    echo "build $c $p" >&2
    (cd "$t" && go test -c -o "$dir/bin/$n/${p//\//-}.test" "./$p")
  done
done

for round in $(seq "$count"); do
  n=0
  for c in "$@"; do
    n=$((n + 1))
    t=$(tree $n "$c")
    for p in $packages; do
      program=$dir/bin/$n/${p//\//-}.test
      [ -x "$program" ] || continue
      echo "round $round of $count: $c $p" >&2
      # In the package's folder, where its test data is.
      (cd "$t/$p" && "$program" -test.run '^$' -test.bench "$bench" -test.benchmem -test.benchtime "$benchtime") >>"$dir/$n.txt"
    done
  done
done

# The files' names are the columns' heads.
label() { printf '%s' "$1" | tr -c 'A-Za-z0-9~^\n-' _; }
one=$(label "$1") two=$(label "$2")
[ "$2" != . ] || two=working-tree
[ "$1" != . ] || one=working-tree
[ "$one" != "$two" ] || two=$two-again
mkdir "$dir/out"
mv "$dir/1.txt" "$dir/out/$one" && mv "$dir/2.txt" "$dir/out/$two"
cd "$dir/out"
GOFLAGS=-mod=mod go run "$benchstat" "$one" "$two"
