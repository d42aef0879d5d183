import { Webhook } from '#kit/webhooks/webhook.ts';
import { type Channel, type ChannelParts, sendMs } from '../channel.ts';
import { detail, headline, type Letter, letterKey, letterTitle, type Notice } from '../notice.ts';
import { readAddress } from './address-file.ts';

/** Incoming webhooks of Slack and Mattermost: what they are called, and how they are written to. */
interface Chat {
  readonly name: string;
  readonly body: (letter: Letter) => object;
}

/** Of a message: Slack takes 50 blocks, and people read no more. */
const maxNotices = 20;

/**
 * Title and text stand in `plain_text`, which Slack formats in no way; `text` is what a phone shows.
 * Source: https://docs.slack.dev/reference/block-kit/blocks/section-block, https://docs.slack.dev/messaging/formatting-message-text
 */
export const slack: Chat = {
  name: 'Slack',
  body: (letter) => ({
    text: slackText(letterTitle(letter)),
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      ...shown(letter).flatMap((notice) => [
        plainBlock(`${headline(notice)}\n${detail(notice)}`),
        {
          type: 'context',
          elements: [{ type: 'mrkdwn', text: `<${slackText(letter.pageOf(notice.run_id))}|Open the run>` }],
        },
      ]),
      ...(rest(letter) === null ? [] : [plainBlock(rest(letter)!)]),
    ],
  }),
};

/** Source: https://developers.mattermost.com/integrate/webhooks/incoming/ */
export const mattermost: Chat = {
  name: 'Mattermost',
  body: (letter) => ({
    text: [
      ...shown(letter).map(
        (notice) =>
          `**${markdownText(headline(notice))}**\n${markdownText(detail(notice))}\n[Open the run](${letter.pageOf(notice.run_id)})`,
      ),
      ...(rest(letter) === null ? [] : [rest(letter)!]),
    ].join('\n\n'),
  }),
};

/** @param file has the address, which whoever knows it can write to */
export function chatChannel(
  { name, body }: Chat,
  { url_file }: { readonly url_file: string },
  parts: ChannelParts,
): Channel {
  const { userAgent, proxies } = parts;
  return {
    place: `${name}, at the address in ${url_file}`,
    async send(letter, signal) {
      const url = readAddress(parts, url_file);
      const webhook = new Webhook({ url, secret: null, timeoutMs: sendMs, userAgent, proxies });
      try {
        await webhook.deliver({ key: letterKey(letter), body: JSON.stringify(body(letter)) }, signal);
      } finally {
        await webhook.close();
      }
    },
    close: async () => {},
  };
}

function shown({ notices }: Letter): readonly Notice[] {
  return notices.slice(0, maxNotices);
}

function rest({ notices }: Letter): string | null {
  return notices.length > maxNotices
    ? `And ${notices.length - maxNotices} more; ./core inbox lists what waits.`
    : null;
}

function plainBlock(text: string): object {
  return { type: 'section', text: { type: 'plain_text', text, emoji: false } };
}

/** Slack's three control characters. */
function slackText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** As text: no markup, no link, and nobody is called by `@all`. */
function markdownText(text: string): string {
  return text
    .replaceAll(/[\\`*_{}[\]()#+!|<>~=-]/g, '\\$&')
    .replaceAll('@', '@\u200b')
    .replaceAll('://', ':\u200b//')
    .replaceAll(/www\./gi, (word) => `${word.slice(0, 3)}\u200b.`);
}
