import { createReadStream, createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { choice } from '#kit/cli/choice.ts';
import { confirm } from '#kit/cli/confirm.ts';
import type { Display } from '#kit/cli/display.ts';
import { filtersOf } from '#kit/cli/filters.ts';
import { type Paint, printResult } from '#kit/cli/output.ts';
import type { CommandContext, RunCommand } from '#kit/cli/program.ts';
import {
  ForgetReply,
  ImportReply,
  LookupReply,
  OutcomeReply,
  RecordReply,
} from '#kit/contracts/context/memory.ts';
import { memoryLayers } from '#kit/contracts/context/vocabulary.ts';
import { counted } from '#kit/counted.ts';
import { codeOf, exitCodes, Failed, InvalidInput, messageOf } from '#kit/errors.ts';
import { runWithService, withService } from '../client.ts';
import { collect, wholeNumber } from '../option-values.ts';
import { indented, moment, short } from '../output.ts';

export function define(program: Command, run: RunCommand): void {
  program
    .command('lookup')
    .description('what is remembered about something, best first')
    .argument('<words...>', 'what about')
    .addOption(choice('--layer <layer>', 'only of this one', memoryLayers))
    .option('--limit <n>', 'results at most, 1 to 100')
    .option('--about <id>', 'only about this entity, repeatable', collect)
    .option('--session <name>', 'only of this session, repeatable', collect)
    .option('--source <name>', 'only what this source said')
    .option('--as-of <time>', 'what was valid then')
    .action((query: string, options: LookupOptions) =>
      runWithService(run, async (client, context) => {
        const { limit, asOf, ...same } = options;
        const body = {
          query,
          ...same,
          limit: wholeNumber('--limit', limit),
          as_of: asOf,
        };
        const reply = await client.post('/v1/memory/lookup', body, LookupReply);
        printResult(context, reply, (paint, display) =>
          lookupLines(reply, paint, { filters: filtersOf({ ...options }), display }),
        );
        return exitCodes.done;
      }),
    );
  program
    .command('remember')
    .description('remember something; the same key again changes nothing')
    .argument('<text...>', 'what')
    .addOption(choice('--layer <layer>', 'where it belongs', memoryLayers).default('semantic'))
    .option('--kind <word>', 'a word of yours, for example decision')
    .option('--about <id>', 'an entity, as search gives it, repeatable', collect)
    .option(
      '--source <name>',
      'where it is from, stored as TOKEN/name; all of a source can be forgotten at once',
    )
    .option('--subject <name>', 'of a fact')
    .option('--predicate <name>', 'of a fact: a newer one on the same two closes it')
    .option('--session <name>', 'of an episode')
    .option('--speaker <name>', 'of an episode')
    .option('--step <text>', 'of a playbook, repeatable', collect)
    .option('--key <name>', 'what makes it the same memory')
    .action((content: string, { step, ...options }: RememberOptions) =>
      runWithService(run, async (client, context) => {
        const body = { content, ...options, steps: step };
        const reply = await client.post('/v1/memory/record', body, RecordReply);
        printResult(context, reply, () => rememberLines(reply));
        return exitCodes.done;
      }),
    );
  program
    .command('outcome')
    .description('say whether a playbook worked')
    .argument('<id>', 'of the memory')
    .option('--worked', 'it did')
    .option('--failed', 'it did not')
    .option('--run <run>', 'in which run')
    .action((id: string, options: { worked?: boolean; failed?: boolean; run?: string }) =>
      runWithService(run, async (client, context) => {
        if (options.worked === options.failed)
          throw new InvalidInput('usage', 'say one of --worked and --failed');
        const body = { id, worked: options.worked === true, run: options.run };
        const reply = await client.post('/v1/memory/outcome', body, OutcomeReply);
        printResult(context, reply, () => [`worked ${reply.worked}, failed ${reply.failed} times`]);
        return exitCodes.done;
      }),
    );
  program
    .command('forget')
    .description('remove a memory, or all of a source, for good')
    .argument('[id]', 'of the memory')
    .option('--source <name>', 'all of this source')
    .option('--reason <text>', 'kept with what was forgotten')
    .option('--yes', 'without asking')
    .action((id: string | undefined, options: ForgetOptions) =>
      run((context) => forget(context, id, options)),
    );
  program
    .command('export')
    .description('all that is remembered, as JSON Lines')
    .argument('[file]', 'where to write it; left out, standard output')
    .option('--force', 'replace the file where there is one')
    .action((file: string | undefined, { force }: { force?: boolean }) =>
      runWithService(run, async (client) => {
        const pieces = Readable.from(await client.getPieces('/v1/memory/export'));
        if (file === undefined) await pipeline(pieces, process.stdout, { end: false });
        else
          await pipeline(
            pieces,
            createWriteStream(file, { mode: 0o600, flags: force === true ? 'w' : 'wx' }),
          ).catch(notWritten(file));
        return exitCodes.done;
      }),
    );
  program
    .command('import')
    .description('bring in an export; nothing of it unless every line can be read')
    .argument('<file>', 'JSON Lines')
    .option('--force', 'bring back what was forgotten here too')
    .action((file: string, { force }: { force?: boolean }) =>
      runWithService(run, async (client, context) => {
        const content = createReadStream(file);
        await opened(content, file);
        const path = `/v1/memory/import${force === true ? '?force=true' : ''}`;
        const reply = await client.upload(path, { type: 'application/jsonl', content }, ImportReply);
        printResult(context, reply, () => importLines(reply));
        return reply.conflicts.length === 0 ? exitCodes.done : exitCodes.failed;
      }),
    );
}

interface LookupOptions {
  readonly layer?: string;
  readonly limit?: string;
  readonly about?: string[];
  readonly session?: string[];
  readonly source?: string;
  readonly asOf?: string;
}

interface RememberOptions {
  readonly step?: string[];
  readonly [name: string]: string | string[] | undefined;
}

interface ForgetOptions {
  readonly source?: string;
  readonly reason?: string;
  readonly yes?: boolean;
}

async function forget(
  context: CommandContext,
  id: string | undefined,
  { source, reason, yes }: ForgetOptions,
): Promise<number> {
  if ((id === undefined) === (source === undefined))
    throw new InvalidInput('usage', 'name an id or --source');
  if (yes !== true && !(await confirmForgetting(id ?? `all that ${source} said`, context.display)))
    return exitCodes.done;
  return withService(context, async (client) => {
    const reply = await client.post('/v1/memory/forget', { id, source, reason }, ForgetReply);
    printResult(context, reply, () => forgetLines(reply, id, source));
    return exitCodes.done;
  });
}

/** @throws InvalidInput (`no_terminal`) */
async function confirmForgetting(what: string, { symbols }: Display): Promise<boolean> {
  if (!(process.stdin.isTTY && process.stderr.isTTY))
    throw new InvalidInput('no_terminal', 'forget asks first, and there is no terminal to ask on', {
      hint: 'Add --yes.',
    });
  return confirm({ message: `Forget ${short(what, 200)} for good?`, default: false, symbols });
}

function forgetLines(reply: ForgetReply, id: string | undefined, source: string | undefined): string[] {
  if (reply.forgotten + reply.kept === 0) {
    if (id !== undefined) return [`${short(id, 100)} was forgotten before.`];
    return [`Nothing is remembered of the source ${short(source!, 100)}.`];
  }
  const bytes = reply.wiped ? '' : '; the bytes go when nobody reads, at the next start at the latest';
  return [
    `${counted(reply.forgotten, 'memory', 'memories')} gone for good${bytes}`,
    ...(reply.kept === 0 ? [] : [`${reply.kept} stay: others said the same`]),
  ];
}

function lookupLines(
  { results, unknown_about, unknown_source }: LookupReply,
  paint: Paint,
  { filters, display }: { readonly filters: string; readonly display: Display },
): string[] {
  const unknown = unknown_about.map((id) => `${paint.yellow('unknown')}  ${short(id, 120)}`);
  if (unknown_source !== null) {
    const { source, known } = unknown_source;
    const choices =
      known.length === 0
        ? 'no memory has a source yet'
        : `known are ${known.map((one) => short(one, 60)).join(', ')}`;
    unknown.push(`${paint.yellow('unknown')}  no memory has the source ${short(source, 100)}; ${choices}`);
  }
  const within = filters === '' ? '' : ` with ${short(filters, 200)}`;
  if (results.length === 0) return [...unknown, `Nothing is remembered about that${within}.`];
  return [
    ...unknown,
    ...results.flatMap(
      ({ score, layer, kind, id, key, text, at, speaker, valid_from, valid_to, worked, failed }) => {
        const who = speaker === null ? '' : `${short(speaker, 40)}: `;
        const when = moment(at ?? valid_from);
        const until = valid_to === null ? '' : ` to ${moment(valid_to)}`;
        const tried = worked + failed === 0 ? '' : `  worked ${worked} of ${worked + failed}`;
        return [
          `${paint.dim(score.toFixed(2))}  ${layer}${kind === layer ? '' : ` ${short(kind, 40)}`}  ${when}${until}${tried}`,
          ...indented(`${id}${key === null ? '' : `  key ${short(key, 60)}`}`, display).map(paint.dim),
          ...indented(`${who}${short(text, 200)}`, display),
        ];
      },
    ),
  ];
}

function rememberLines({ id, created, duplicate_of, similar_to, closed, masked }: RecordReply): string[] {
  const first = created
    ? `remembered as ${id}`
    : duplicate_of === null
      ? `known already as ${id}`
      : `known already as ${duplicate_of}, in the same words`;
  return [
    first,
    ...closed.map((old) => `closes ${old}`),
    ...(created ? similar_to.map((other) => `similar to ${other}; both are kept`) : []),
    ...(masked === 0 ? [] : [`${counted(masked, 'secret')} in it masked`]),
  ];
}

function importLines({
  lines,
  created,
  unchanged,
  skipped_forgotten,
  conflicts,
  unlinked,
}: ImportReply): string[] {
  return [
    `${counted(lines, 'line')}: ${created} new, ${unchanged} known already`,
    ...(skipped_forgotten === 0
      ? []
      : [`${skipped_forgotten} were forgotten here and stay so; --force brings them back`]),
    ...(unlinked === 0 ? [] : [`${unlinked} are about entities that are not known here yet`]),
    ...conflicts.map(({ line, id, reason }) => `line ${line}  ${id}  ${short(reason, 200)}`),
  ];
}

function opened(content: ReturnType<typeof createReadStream>, file: string): Promise<void> {
  return new Promise((resolve, reject) => {
    content.once('ready', () => resolve());
    content.once('error', (cause) =>
      reject(new InvalidInput('file_unreadable', `${file} cannot be read: ${messageOf(cause)}`, { cause })),
    );
  });
}

function notWritten(file: string): (cause: unknown) => never {
  return (cause) => {
    if (codeOf(cause) === 'EEXIST')
      throw new InvalidInput('file_exists', `${file} exists`, {
        cause,
        hint: 'Name another file, or replace it with --force.',
      });
    throw new Failed('not_writable', `${file} cannot be written: ${messageOf(cause)}`, { cause });
  };
}
