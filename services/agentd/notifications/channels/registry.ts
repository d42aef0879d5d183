import type { Channel, ChannelParts } from '../channel.ts';
import type { ChannelKind, Channels } from '../configuration.ts';
import { chatChannel, mattermost, slack } from './chat.ts';
import { desktopChannel } from './desktop.ts';
import { mailChannel } from './mail.ts';
import { webhookChannel } from './webhook.ts';

type Open = {
  readonly [K in ChannelKind]: (settings: NonNullable<Channels[K]>, parts: ChannelParts) => Channel;
};

const kinds: Open = {
  webhook: webhookChannel,
  slack: (settings, parts) => chatChannel(slack, settings, parts),
  mattermost: (settings, parts) => chatChannel(mattermost, settings, parts),
  mail: mailChannel,
  desktop: (_, parts) => desktopChannel(parts),
};

/** null where the person has no channel of this kind. */
export function openChannel<K extends ChannelKind>(
  kind: K,
  channels: Channels,
  parts: ChannelParts,
): Channel | null {
  const settings = channels[kind];
  return settings === undefined ? null : kinds[kind](settings, parts);
}
