import { isAbsolute, join } from 'node:path';
import { guarded } from '#kit/callbacks.ts';
import { CoreError, messageOf, Refused } from '#kit/errors.ts';
import { readSmallFile } from '#kit/small-file.ts';
import { DeliveryFailed } from '#kit/webhooks/webhook.ts';
import { type Channel, type ChannelParts, sendMs } from '../channel.ts';
import { notificationsFile, type Smtp } from '../configuration.ts';
import { detail, headline, type Letter, letterKey, letterTitle } from '../notice.ts';
import { readSecretLine } from './address-file.ts';

/** A mail of text alone. The same letter has the same Message-ID, by which mail programs know it again. */
export function mailChannel({ to }: { readonly to: string }, parts: ChannelParts): Channel {
  const { smtp } = parts;
  if (smtp === null) {
    const path = notificationsFile(parts.folders);
    throw new Refused('smtp_missing', `${path} names no smtp server that sends mails`, {
      facts: { path },
      hint: 'Add smtp to that file; site/guide-notifications.md has an example.',
    });
  }
  return {
    place: `${to}, through ${smtp.host}:${smtp.port}`,
    async send(letter, signal) {
      // Not everybody is notified by mail.
      const { createTransport } = await import('nodemailer');
      const transport = createTransport(transportOf(smtp, parts));
      const abort = guarded('a notification', () => transport.close());
      signal.addEventListener('abort', abort);
      try {
        await transport.sendMail({
          from: { name: 'Core', address: smtp.from },
          to: { name: '', address: to },
          subject: letterTitle(letter),
          text: mailText(letter),
          messageId: `<${letterKey(letter).slice(0, 32)}@core.${smtp.from.split('@')[1]}>`,
          headers: { 'Auto-Submitted': 'auto-generated' },
          disableFileAccess: true,
          disableUrlAccess: true,
        });
      } catch (cause) {
        throw cause instanceof CoreError ? cause : new DeliveryFailed(messageOf(cause), { cause });
      } finally {
        signal.removeEventListener('abort', abort);
        transport.close();
      }
    },
    close: async () => {},
  };
}

function transportOf(smtp: Smtp, parts: ChannelParts) {
  const { host, port, tls, user, password_file, ca_file } = smtp;
  const ca = ca_file === undefined ? undefined : readSmallFile(within(parts.folders.config, ca_file));
  return {
    host,
    port,
    secure: tls === 'implicit',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'none',
    ...(ca === undefined ? {} : { tls: { ca } }),
    ...(user === undefined || password_file === undefined
      ? {}
      : { auth: { user, pass: readSecretLine(parts, password_file, 'password for mail') } }),
    connectionTimeout: 5_000,
    greetingTimeout: 5_000,
    socketTimeout: sendMs,
  };
}

function within(folder: string, path: string): string {
  return isAbsolute(path) ? path : join(folder, path);
}

function mailText({ notices, pageOf }: Letter): string {
  const parts = notices.map((notice) => `${headline(notice)}\n${detail(notice)}\n${pageOf(notice.run_id)}\n`);
  return `${parts.join('\n')}\n-- \nSent by Core; notifications.json says to whom.\n`;
}
