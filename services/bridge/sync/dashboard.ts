/** What a dashboard is told: that a run reached a state. */
export interface Message {
  /** One for each dashboard, run and state: the same again is the same message. */
  readonly key: string;
  /** JSON. */
  readonly body: string;
}

/** Where people watch their tasks. */
export interface Dashboard {
  readonly name: string;
  /** Resolves when the dashboard has taken the message. @throws DeliveryFailed */
  deliver(message: Message, signal?: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** The dashboard did not take a message; whether it has it all the same is not known unless it answered. */
export class DeliveryFailed extends Error {
  /** Whether it is about this message, so that others can be delivered meanwhile. */
  readonly ofMessage: boolean;
  /** Seconds that the dashboard wants to be left alone; null where it did not say. */
  readonly retryAfter: number | null;

  constructor(
    message: string,
    options: {
      readonly ofMessage?: boolean;
      readonly retryAfter?: number | null;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'DeliveryFailed';
    this.ofMessage = options.ofMessage ?? false;
    this.retryAfter = options.retryAfter ?? null;
  }
}
