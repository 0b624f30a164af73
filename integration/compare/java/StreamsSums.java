package compare;

import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;

/**
 * A running sum of n per key, one result for each record, with Kafka Streams. Arguments are name=value: brokers in out id
 * interval timeout dir.
 */
public class StreamsSums {
  static long n(String json) {
    int from = json.indexOf("\"n\":") + 4;
    int to = from;
    while (Character.isDigit(json.charAt(to))) to++;
    return Long.parseLong(json.substring(from, to));
  }

  public static void main(String[] args) {
    Map<String, String> a = new HashMap<>();
    for (String s : args) a.put(s.substring(0, s.indexOf('=')), s.substring(s.indexOf('=') + 1));

    Properties p = new Properties();
    p.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, a.get("brokers"));
    p.put(StreamsConfig.APPLICATION_ID_CONFIG, a.get("id"));
    p.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    p.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, a.get("interval"));
    p.put(StreamsConfig.STATE_DIR_CONFIG, a.get("dir") + "/state");
    p.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, "2");
    p.put("producer.transaction.timeout.ms", a.get("timeout"));
    // A cache would keep results back that a later record of the key replaces.
    p.put("statestore.cache.max.bytes", "0");
    // A member that comes back under its name does not wait for its own session to end.
    p.put("group.instance.id", "one");

    StreamsBuilder b = new StreamsBuilder();
    b.stream(a.get("in"), Consumed.with(Serdes.String(), Serdes.String()))
        .groupByKey(Grouped.with(Serdes.String(), Serdes.String()))
        .aggregate(() -> 0L, (key, record, sum) -> sum + n(record), Materialized.with(Serdes.String(), Serdes.Long()))
        .toStream()
        .mapValues((key, sum) -> "{\"key\":\"" + key + "\",\"sum\":" + sum + "}")
        .to(a.get("out"), Produced.with(Serdes.String(), Serdes.String()));
    KafkaStreams streams = new KafkaStreams(b.build(), p);
    streams.setUncaughtExceptionHandler(e -> {
      e.printStackTrace();
      return StreamThreadExceptionResponse.REPLACE_THREAD;
    });
    Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
    streams.start();
  }
}
