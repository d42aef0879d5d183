import { existsSync } from 'node:fs';
import * as t from 'io-ts';
import { readConcernPart } from '#kit/config/concern.ts';
import { nullable, optional } from '#kit/decode.ts';
import { messageOf } from '#kit/errors.ts';
import { type Folders, secretPath } from '#kit/folders.ts';
import { type Finding, finding } from './installation.ts';

const files = { secret_file: optional(t.string), url_file: optional(t.string) };
const Notifications = t.strict({
  smtp: nullable(t.strict({ password_file: optional(t.string) })),
  people: t.record(t.string, t.strict({ channels: t.record(t.string, optional(t.strict(files))) })),
});

/** Who is notified, and that the files with secrets are there; core-agentd checks the rest. */
export function checkNotifications(folders: Pick<Folders, 'config' | 'secrets'>): Finding {
  const name = 'notifications';
  try {
    const { smtp, people } = readConcernPart(Notifications, name, folders);
    const used = [
      smtp?.password_file,
      ...Object.values(people).flatMap(({ channels }) =>
        Object.values(channels).flatMap((channel) => [channel?.secret_file, channel?.url_file]),
      ),
    ].filter((file) => file !== undefined);
    const missing = used.filter((file) => !existsSync(secretPath(folders, file)));
    if (missing.length > 0)
      return finding(
        name,
        'warning',
        `${[...new Set(missing)].join(', ')} missing in ${folders.secrets}`,
        'Write the files, then: ./core notify test',
      );
    return finding(
      name,
      'works',
      Object.keys(people).join(', ') || 'nobody is notified; notifications.json names people',
    );
  } catch (error) {
    return finding(name, 'broken', messageOf(error), 'Correct notifications.json.');
  }
}
