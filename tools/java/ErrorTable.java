import org.apache.kafka.common.errors.InvalidMetadataException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.Errors;

/** Prints Kafka's error table: a line an error with number, name, whether it is retriable, whether it asks for new metadata. */
public class ErrorTable {
  public static void main(String[] args) {
    for (Errors error : Errors.values()) {
      System.out.println(error.code() + " " + error.name() + " " + (error.exception() instanceof RetriableException)
          + " " + (error.exception() instanceof InvalidMetadataException));
    }
  }
}
