import { setTimeout } from 'node:timers/promises';
import type { Command } from 'commander';
import { until } from '#kit/cli/moments.ts';
import { openInBrowser } from '#kit/cli/open-in-browser.ts';
import { askService } from '#kit/cli/service-client.ts';
import { agentdUrl } from '#kit/config/client-urls.ts';
import { EndedSessions, SignInLink } from '#kit/contracts/review.ts';
import { counted } from '#kit/counted.ts';
import { environment } from '#kit/environment.ts';
import { InvalidInput } from '#kit/errors.ts';
import { resolveFolders } from '#kit/folders.ts';
import type { HttpClient } from '#kit/http/client.ts';
import { answer, type CommandContext, type Run, type RunOption, runNamed, withRun } from '../command.ts';

interface ReviewOptions extends RunOption {
  readonly open: boolean;
  readonly address?: string;
  readonly signOutAll?: boolean;
}

/** Milliseconds in which a desktop says that it cannot open an address. */
const openMs = 2_000;

export function review(program: Command, run: Run): void {
  withRun(program.command('review'))
    .description('review in the browser: opens the page of the daemon with a link that signs you in once')
    .option('--no-open', 'only print the link')
    .option(
      '--address <url>',
      'where the browser reaches the daemon (default: where this command does)',
      webAddress,
    )
    .option('--sign-out-all', 'sign out every browser that was signed in as you')
    .action(
      run(async (context, id: string | undefined, options: ReviewOptions) => {
        if (options.signOutAll === true) return signOutAll(context);
        const named = id === undefined && options.runId === undefined;
        const body = named ? {} : { run: await runNamed(context, id, options, 'review') };
        const { path, expires_at, base } = await askDaemon(context, async (client, base) => ({
          ...(await client.post('/v1/review/links', body, SignInLink)),
          base,
        }));
        const url = `${options.address ?? base}${path}`;
        const opened = options.open && !context.json && (await isOpened(url));
        const { terminal } = context;
        return answer(context, { url, expires_at, opened }, () =>
          [
            opened
              ? 'Opening the review page in your browser. If none comes up, open'
              : 'Open in your browser',
            `  ${terminal.paint.cyan(url)}`,
            `The link signs one browser in as you, once; it expires ${until(expires_at, terminal.now())}.`,
            '',
          ].join('\n'),
        );
      }),
    );
}

async function signOutAll(context: CommandContext): Promise<number> {
  const { ended } = await askDaemon(context, (client) => client.delete('/v1/review/sessions', EndedSessions));
  return answer(context, { ended }, () => `Signed out ${counted(ended, 'browser')}.\n`);
}

export function askDaemon<T>(
  { suggestions: { program, home } }: CommandContext,
  work: (client: HttpClient, baseUrl: string) => Promise<T>,
): Promise<T> {
  const folders = resolveFolders({ home }, environment);
  const baseUrl = agentdUrl({ folders, environment });
  const service = { name: 'core-agentd', baseUrl } as const;
  return askService({ program, home }, { folders, service }, (client) => work(client, baseUrl));
}

/** A browser that opens ends much later, if ever; one that is not there says so at once. */
async function isOpened(url: string): Promise<boolean> {
  const decided = new AbortController();
  const opening = openInBrowser(url, () => {}).then(
    () => true,
    () => false,
  );
  // What was opened keeps no process alive, so the wait must.
  const waiting = setTimeout(openMs, true, { signal: decided.signal }).catch(() => true);
  try {
    return await Promise.race([opening, waiting]);
  } finally {
    decided.abort();
  }
}

function webAddress(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text.replace(/\/+$/, '');
  throw new InvalidInput(
    'invalid_option',
    `--address '${text}' must be an address, for example http://127.0.0.1:7817`,
  );
}
