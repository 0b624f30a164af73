#!/usr/bin/env bash
# Measures Weir beside its peers on one machine, one broker and the same input, one after the other, and prints tables.
# docs/performance.md says what is measured and how to repeat it.
#
#   make bench                                             everything: about an hour and a half on two cores
#   make bench-quick                                       Weir and the limit alone: under two minutes
#   CELLS="limit weir-w1" make bench                       some cells of the table
#   FIGURES="pause recovery" make bench                    some of the other figures
#   CELLS="weir-w3" BIG_N=1000000 REPEAT=1 make bench      smaller inputs
#
# Cells: limit limit-alt limit-snappy limit-alt-snappy raw raw-snappy limit-json limit-json-alt raw-w3
#        weir-w1 ... weir-w7, weir-snappy-w1, weir-yaml-w1 ... weir-yaml-w6,
#        flink-w1 ... flink-w7, flinkhash-w3 ... flinkhash-w7, kstreams-w1 ... kstreams-w7.
#        A cell with @100 behind it runs at an interval of 100 ms.
# Figures: start memory binary allocs bytes pause recovery recovery-fetch scaling latency, and with 20 M keys
#        pause-many pause-many-live (a budget that holds them: needs 16 GiB) recovery-many recovery-fetch-many.
# With one of CELLS and FIGURES given, the other is empty.
#
#   REPEAT=3       every cell three times, in rounds      INTERVAL=1000  checkpoint or commit interval of the cells, ms
#   ONCE='*w5*'    cells for which one round is enough: they take many minutes. Several patterns: ONCE='*w5* flink*'
#   BIG_N          records of w1, w2, and of w3, w4 and w7 for the programs that are quick (36 M)
#   SMALL_N        records of w3, w4 and w7 for Flink and Kafka Streams (3 M); as many as BIG_N for one input for all
#   MANY_N         records of w5 (30 M)                    MANY_KEYS      keys of w5 and the figures with many (20 M)
#   ZIPF_N         records of w6 (12 M)
#   KEYS_N, KEYS   records (20 M) and keys (1 M) for pause and bytes
#   KILLS=5        kills of each recovery                  LAT_WARM, LAT_FOR  of each latency (15s, 30s)
#   WEIR_FLAGS     flags for the Go job ("-parallelism 2", as the JVM peers have it)
#   YAML_FLAGS     flags for the YAML job ("--set parallelism=2")
#   FIGURE_FLAGS   more flags for bench/figures, for example -scaling-records 1000000
#   RESULTS        prefix of the result files, to add to an earlier run (bench/results/<date>)
#   BROKER=external   use the broker that listens on port 19092, keep the inputs that are in it
#   TOPICS=bench   what the names of the input topics begin with
#   BIN            folder of the programs (bench/peers/bin); BUILD=none takes those that are there
#
# Needs Linux, Go, Java 17 and, for the peers on the JVM, Maven; port 19092 is the broker's, since the peers have it built in.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
peers=$root/bench/peers
export BIN=${BIN:-$peers/bin}

if [ "${1-}" = quick ]; then
  CELLS=${CELLS-"limit weir-w1 limit-json weir-w2 weir-w3 weir-w4"}
  # A shorter interval, so that 4 M records are more than two or three checkpoints.
  BIG_N=${BIG_N:-4000000} REPEAT=${REPEAT:-1} INTERVAL=${INTERVAL:-500}
elif [ -z "${CELLS+x}${FIGURES+x}" ]; then
  CELLS="limit weir-w1 limit-alt limit-snappy weir-snappy-w1 limit-alt-snappy weir-yaml-w1 weir-w1@100 raw raw-snappy flink-w1 kstreams-w1
    limit-json weir-w2 weir-yaml-w2 weir-w2@100 flink-w2 kstreams-w2
    weir-w3 weir-yaml-w3 weir-w3@100 flink-w3 flinkhash-w3 kstreams-w3 raw-w3
    weir-w4 weir-yaml-w4 weir-w4@100 flink-w4 flinkhash-w4 kstreams-w4
    weir-w7 flink-w7 flinkhash-w7 kstreams-w7
    weir-w6 flinkhash-w6 weir-w5"
  FIGURES="start memory binary allocs bytes pause recovery recovery-fetch scaling latency
    pause-many pause-many-live recovery-many recovery-fetch-many"
fi
cells=${CELLS-} figures=${FIGURES-}
read -ra once_patterns <<<"${ONCE-*w5*}"
interval=${INTERVAL:-1000} repeat=${REPEAT:-3}
big_n=${BIG_N:-36000000} small_n=${SMALL_N:-3000000} zipf_n=${ZIPF_N:-12000000}
many_n=${MANY_N:-30000000} many_keys=${MANY_KEYS:-20000000}
keys_n=${KEYS_N:-20000000} keys=${KEYS:-1000000}

mkdir -p bench/results
results=$(realpath -m "${RESULTS:-bench/results/$(date +%Y%m%d-%H%M%S)}")

# has LIST PATTERN...: whether a word in the list matches one of the patterns.
has() {
  local list=$1 w p
  shift
  set -f
  for w in $list; do for p in "$@"; do case $w in $p) set +f; return 0 ;; esac; done; done
  set +f
  return 1
}
# one_round CELL: whether one round of it is enough.
one_round() {
  local p
  for p in "${once_patterns[@]}"; do case $1 in $p) return 0 ;; esac; done
  return 1
}
began=$SECONDS
passed() { local s=$((SECONDS - began)); printf '%d:%02d' $((s / 60)) $((s % 60)); }

if [ "${BUILD-}" != none ]; then
  echo "=== build"
  mkdir -p "$BIN"
  (cd "$peers/go" && go build -o "$BIN/" ./...)
  CGO_ENABLED=0 go build -trimpath -o "$BIN/" ./bench/weir ./bench/figures ./integration/kafka
  CGO_ENABLED=0 go build -trimpath -tags timetzdata,urfave_cli_no_docs -ldflags '-s -w' -o "$BIN/" ./cmd/processor
  if has "$cells" 'flink*' || has "$figures" latency; then mvn -q -B -f "$peers/java/flink/pom.xml" package; fi
  if has "$cells" 'kstreams*'; then mvn -q -B -f "$peers/java/streams/pom.xml" package; fi
fi

{
  date -u '+%Y-%m-%d'
  sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1
  echo "$(nproc) cores, $(awk '/MemTotal/ {printf "%.0f GiB", $2/1048576}' /proc/meminfo), Linux $(uname -r)"
  echo "$(go env GOVERSION), Weir $(git describe --always --dirty 2>/dev/null || echo unknown)"
  echo "Kafka 4.4.0, one broker on the same machine"
} >"$results-machine.txt"

echo "=== broker"
export BROKER_PID_FILE=$results-broker.pid
rm -f "$BROKER_PID_FILE"
if [ "${BROKER-}" = external ]; then
  trap 'rm -f "$BROKER_PID_FILE"' EXIT
  # Without its process ID the broker's CPU column is 0.
  ss -Hltnp 'sport = :19092' | sed -n 's/.*pid=\([0-9]*\).*/\1/p' | head -n 1 >"$BROKER_PID_FILE"
else
  "$BIN/kafka" -port 19092 -pid-file "$BROKER_PID_FILE" &
  kafka=$!
  trap 'kill "$kafka" 2>/dev/null; wait "$kafka" 2>/dev/null; rm -f "$BROKER_PID_FILE"' EXIT
  until [ -s "$BROKER_PID_FILE" ]; do
    kill -0 "$kafka" 2>/dev/null || exit 1
    sleep 0.2
  done
fi

cd "$peers"
t=${TOPICS:-bench}
export PEERS=$peers CSV=$results-cells.csv SMALL=$t-small BIG=$t-big QUICK=$t-big MANY=$t-many ZIPF=$t-zipf
if [ "$small_n" = "$big_n" ]; then SMALL=$BIG; fi
# More flags for watch; cells.sh wants it to be set.
WX=${WX-}
. ./cells.sh

echo "=== inputs"
input() { "$BIN/gen" -reuse -topic "$1" -n "$2" "${@:3}"; }
need_small=0 need_big=0
if has "$cells" 'flink*-w[347]*' 'kstreams-w[347]*'; then need_small=1; fi
if has "$cells" 'limit*' 'raw*' '*w[12]' '*w[12]@*' 'weir*w[347]' 'weir*w[347]@*' || has "$figures" allocs recovery recovery-fetch; then need_big=1; fi
if [ "$SMALL" = "$BIG" ]; then need_big=$((need_big | need_small)) need_small=0; fi
if [ $need_big = 1 ]; then input "$BIG" "$big_n"; fi
if [ $need_small = 1 ]; then input "$SMALL" "$small_n"; fi
if has "$cells" '*w5' '*w5@*' || has "$figures" '*-many*'; then input "$MANY" "$many_n" -users "$many_keys" -first; fi
if has "$cells" '*w6' '*w6@*'; then input "$ZIPF" "$zipf_n" -zipf 1.1; fi
if has "$figures" pause bytes; then input "$t-keys" "$keys_n" -users "$keys"; fi

# weir LABEL WORK MILLISECONDS FLAGS...
weir() {
  local in=$QUICK
  case $2 in w1 | w2 | w5 | w6) in=$(input_of "$2") ;; esac
  w "$1" "$2" "$in" "$3" "$BIN/weir" -work "$(program "$2")" -in {in} -out {out} -group {group} -interval {interval}ms -dir {dir} \
    ${WEIR_FLAGS--parallelism 2} "${@:4}"
}
weir_yaml() {
  local in=$QUICK
  case $1 in w1 | w2 | w5 | w6) in=$(input_of "$1") ;; esac
  w weir-yaml "$1" "$in" "$2" "$BIN/processor" run "../jobs/$(program "$1").yaml" --address off --set kafka.brokers=127.0.0.1:19092 --set job={group} \
    --set source.events.topics={in} --set sink.out.topic={out} --set checkpoint.interval={interval}ms \
    --set checkpoint.storage={dir}/state --set checkpoint.local_dir={dir}/local ${YAML_FLAGS---set parallelism=2} "${@:3}"
}
# The budget of w5 is in megabytes of 10^6 bytes: what the process may have in all is in the report.
many_budget=512MB
cell() {
  local name=${1%@*} ms=$interval
  case $1 in *@*) ms=${1#*@} ;; esac
  local work=${name##*-}
  case $name in
    limit) limit "$ms" ;;
    limit-alt) limitalt "$ms" ;;
    limit-snappy) limitsnappy "$ms" ;;
    limit-alt-snappy) limitaltsnappy "$ms" ;;
    limit-json) limitjson "$ms" ;;
    limit-json-alt) limitjsonalt "$ms" ;;
    raw) raw "$ms" lz4 ;;
    raw-snappy) raw "$ms" snappy ;;
    raw-w3) raww3 "$ms" lz4 ;;
    weir-w5) weir weir w5 "$ms" -memory "$many_budget" ;;
    weir-w[1-467]) weir weir "$work" "$ms" ;;
    weir-snappy-w[1-7]) weir weir-snappy "$work" "$ms" -compression snappy ;;
    weir-yaml-w5) weir_yaml w5 "$ms" --set checkpoint.memory="$many_budget" ;;
    weir-yaml-w[1-46]) weir_yaml "$work" "$ms" ;;
    flink-w[1-7]) flink "$work" "$ms" ;;
    flinkhash-w[3-7]) flinkhash "$work" "$ms" ;;
    kstreams-w4) ksemit0 "$ms" ;; # with its defaults the output is wrong
    kstreams-w[123567]) ks "$work" "$ms" ;;
    *) echo "no cell $1" >&2; return 1 ;;
  esac
}
failed=0
if [ -n "$cells" ]; then
  echo "=== warm-up"
  # A new broker makes its internal topics at the first transaction, which limit does not wait for; and its JVM is cold.
  input "$t-warm" 500000
  "$BIN/watch" -label warm-up -work w1 -in "$t-warm" -csv /dev/null -- "$BIN/weir" -work w1 -in {in} -out {out} -group {group} -interval {interval}ms -dir {dir}
fi
all=0 done=0 first=$SECONDS
for c in $cells; do
  if one_round "$c"; then all=$((all + 1)); else all=$((all + repeat)); fi
done
for round in $(seq "$repeat"); do
  for c in $cells; do
    if [ "$round" -gt 1 ] && one_round "$c"; then continue; fi
    left=
    if [ $done -gt 0 ]; then left=", the cells need about $((((SECONDS - first) * (all - done) / done + 30) / 60)) min more"; fi
    done=$((done + 1))
    echo "=== cell $done of $all: $c, round $round of $repeat ($(passed)$left)"
    cell "$c" || { echo "$c failed" >&2; failed=1; }
  done
done
if [ -e "$CSV" ] && grep -q '"WRONG' "$CSV"; then
  echo "an output is wrong: the logs are in bench/peers/logs" >&2
  failed=1
fi

cd "$root"
all=$(wc -w <<<"$figures") done=0
for f in $figures; do
  done=$((done + 1))
  echo "=== figure $done of $all: $f ($(passed))"
  many=()
  base=${f%%-many*}
  case $f in *-many*) many=(-keys-topic "$MANY" -recovery-topic "$MANY" -keys "$many_keys" -after-first) ;; esac
  case $f in *-live) many+=(-memory 8GiB) ;; esac
  "$BIN/figures" -only "$base" -suffix "${f#"$base"}" -csv "$results-figures.csv" -dir bench/results/figures -bin "$BIN" -peers "$peers" \
    -big "$BIG" -keys-topic "$t-keys" -keys "$keys" -recovery-topic "$BIG" -kills "${KILLS:-5}" \
    -lat-warm "${LAT_WARM:-15s}" -lat-for "${LAT_FOR:-30s}" "${many[@]}" ${FIGURE_FLAGS-} || { echo "$f failed" >&2; failed=1; }
done

echo "=== $results ($(passed))"
go run ./bench/report "$results"
echo
echo "into the document: go run ./bench/report -doc docs/performance.md -chart docs/performance.svg ${results#"$root/"}"
exit $failed
