import { type Message, Webhook, type WebhookOptions } from '#kit/webhooks/webhook.ts';

/** Where people watch their tasks. */
export interface Dashboard {
  readonly name: string;
  /** Resolves when the dashboard has taken the message. @throws DeliveryFailed */
  deliver(message: Message, signal?: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** A dashboard that takes signed POSTs. */
export class WebhookDashboard extends Webhook implements Dashboard {
  readonly name: string;

  constructor({ name, ...options }: WebhookOptions & { readonly name: string }) {
    super(options);
    this.name = name;
  }
}
