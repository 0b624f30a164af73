package compare;

import java.util.HashMap;
import java.util.Map;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.serialization.SerializationSchema;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.sink.TransactionNamingStrategy;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/**
 * A running sum of n per key, one result for each record, with Flink. Arguments are name=value: brokers in out id interval
 * timeout dir, and restore (a checkpoint's folder) or naming if wanted.
 */
public class FlinkSums {
  /** The text between a name of a flat JSON object and the next comma or brace, without quotes. */
  static String field(String json, String name) {
    int from = json.indexOf("\"" + name + "\":") + name.length() + 3;
    int to = from;
    while (json.charAt(to) != ',' && json.charAt(to) != '}') to++;
    return json.substring(from, to).replace("\"", "");
  }

  static class Sum extends KeyedProcessFunction<String, String, String> {
    private transient ValueState<Long> sum;

    @Override
    public void open(OpenContext c) {
      sum = getRuntimeContext().getState(new ValueStateDescriptor<>("sum", Types.LONG));
    }

    @Override
    public void processElement(String in, Context c, Collector<String> out) throws Exception {
      Long before = sum.value();
      long now = (before == null ? 0 : before) + Long.parseLong(field(in, "n"));
      sum.update(now);
      out.collect("{\"key\":\"" + c.getCurrentKey() + "\",\"sum\":" + now + "}");
    }
  }

  static class Key implements SerializationSchema<String> {
    @Override
    public byte[] serialize(String result) {
      return field(result, "key").getBytes(java.nio.charset.StandardCharsets.UTF_8);
    }
  }

  public static void main(String[] args) throws Exception {
    Map<String, String> a = new HashMap<>();
    for (String s : args) a.put(s.substring(0, s.indexOf('=')), s.substring(s.indexOf('=') + 1));

    Configuration conf = new Configuration();
    conf.setString("execution.checkpointing.mode", "EXACTLY_ONCE");
    conf.setString("execution.checkpointing.interval", a.get("interval") + "ms");
    conf.setString("execution.checkpointing.dir", "file://" + a.get("dir") + "/checkpoints");
    conf.setString("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
    conf.setString("io.tmp.dirs", a.get("dir") + "/tmp");
    if (a.containsKey("restore")) conf.setString("execution.state-recovery.path", "file://" + a.get("restore"));
    StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(2, conf);

    KafkaSource<String> source = KafkaSource.<String>builder()
        .setBootstrapServers(a.get("brokers")).setTopics(a.get("in")).setGroupId(a.get("id"))
        .setStartingOffsets(OffsetsInitializer.earliest())
        .setValueOnlyDeserializer(new SimpleStringSchema())
        .build();
    KafkaSink<String> sink = KafkaSink.<String>builder()
        .setBootstrapServers(a.get("brokers"))
        .setDeliveryGuarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .setTransactionalIdPrefix(a.get("id"))
        .setTransactionNamingStrategy(a.containsKey("naming") ? TransactionNamingStrategy.valueOf(a.get("naming")) : TransactionNamingStrategy.DEFAULT)
        .setProperty("transaction.timeout.ms", a.get("timeout"))
        .setRecordSerializer(KafkaRecordSerializationSchema.<String>builder().setTopic(a.get("out"))
            .setKeySerializationSchema(new Key()).setValueSerializationSchema(new SimpleStringSchema()).build())
        .build();
    env.fromSource(source, WatermarkStrategy.noWatermarks(), "numbers").uid("numbers")
        .keyBy(r -> field(r, "key"), Types.STRING).process(new Sum()).returns(Types.STRING).uid("sum")
        .sinkTo(sink).uid("sums");
    env.execute("sums");
  }
}
