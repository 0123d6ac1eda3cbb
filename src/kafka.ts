/**
 * The door: one `Kafka` holds where the cluster is and how to talk to it, and makes the clients. Each client has its own
 * connections and its own view of the cluster, and is closed on its own.
 *
 * @module
 */

import { Admin } from "./admin/admin.ts";
import { type ClientContext, clientContext } from "./client/client_context.ts";
import type { ClientOptions } from "./client/client_options.ts";
import type { Platform } from "./client/platform.ts";
import { Consumer } from "./consumer/consumer.ts";
import type { ConsumerOptions } from "./consumer/consumer_options.ts";
import { Producer } from "./producer/producer.ts";
import type { ProducerOptions } from "./producer/producer_options.ts";
import type { Payload } from "./producer/record_metadata.ts";

/** A Kafka cluster as seen from here. */
export class Kafka {
  readonly #context: ClientContext;

  /**
   * Takes the options; nothing is connected.
   *
   * @throws ConfigError
   */
  constructor(options: ClientOptions, platform: Platform) {
    this.#context = clientContext(options, platform);
  }

  /**
   * Makes a producer. It connects when the first record is sent. What keys and values it takes follows from the serializers
   * given: bytes or text without any.
   *
   * @throws ConfigError
   */
  producer<K = Payload, V = Payload>(options: ProducerOptions<K, V> = {}): Producer<K, V> {
    return new Producer<K, V>(this.#context, options);
  }

  /**
   * Makes a consumer of whole topics or of single partitions, without a group.
   *
   * @throws ConfigError
   */
  consumer(options: ConsumerOptions): Consumer {
    return new Consumer(this.#context, options);
  }

  /** Makes a client for topics and offsets. */
  admin(): Admin {
    return new Admin(this.#context);
  }
}
