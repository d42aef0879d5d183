import { openSecretFile } from '#kit/webhooks/secret-file.ts';
import { Webhook } from '#kit/webhooks/webhook.ts';
import { type Channel, type ChannelParts, sendMs } from '../channel.ts';
import { detail, headline, type Letter, letterKey } from '../notice.ts';

/** JSON for a program, signed as messages to dashboards are. */
export function webhookChannel(
  { url, secret_file }: { readonly url: string; readonly secret_file: string },
  { folders, learned, userAgent, proxies }: ChannelParts,
): Channel {
  const secret = openSecretFile(folders.secrets, secret_file, learned);
  const webhook = new Webhook({ url, secret, timeoutMs: sendMs, userAgent, proxies });
  return {
    place: new URL(url).origin,
    send: (letter, signal) =>
      webhook.deliver({ key: letterKey(letter), body: JSON.stringify(webhookBody(letter)) }, signal),
    close: () => webhook.close(),
  };
}

function webhookBody({ person, notices, pageOf }: Letter) {
  return {
    person,
    notices: notices.map((notice) => ({
      ...notice,
      headline: headline(notice),
      text: detail(notice),
      url: pageOf(notice.run_id),
    })),
  };
}
