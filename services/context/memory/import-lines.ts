import { unknownKeys } from '#kit/config/unknown-keys.ts';
import { type ImportReply, MemoryLine } from '#kit/contracts/context/memory.ts';
import { decode, parseJson } from '#kit/decode.ts';
import { CoreError, Failed, type FieldError, InvalidInput, messageOf } from '#kit/errors.ts';
import type { NumberedLine } from './import-memories.ts';
import { masked, maskedName } from './mask-secrets.ts';
import { utc } from './prepare-recording.ts';

const linesAtOnce = 100;
const maxErrors = 100;
/** Of one line; a memory of the greatest length, escaped, and all that comes with it. */
const maxLineLength = 4 * 1024 * 1024;

/** Reads all lines, and gives them on when every one of them is good. */
export async function importLines(
  chunks: AsyncIterable<string> | Iterable<string>,
  bringIn: (lines: readonly NumberedLine[]) => Promise<ImportReply>,
): Promise<ImportReply> {
  const lines = await readAll(chunks);
  const total = { lines: 0, created: 0, unchanged: 0, skipped_forgotten: 0, unlinked: 0 };
  const conflicts: ImportReply['conflicts'] = [];
  for (let from = 0; from < lines.length; from += linesAtOnce) {
    const reply = await bringIn(lines.slice(from, from + linesAtOnce)).catch((error: unknown) => {
      throw stoppedAt(error, total.lines, lines.length);
    });
    for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += reply[name];
    conflicts.push(...reply.conflicts);
  }
  return { ...total, conflicts };
}

async function readAll(chunks: AsyncIterable<string> | Iterable<string>): Promise<NumberedLine[]> {
  const lines: NumberedLine[] = [];
  const errors: FieldError[] = [];
  const ids = new Map<string, number>();
  let bad = 0;
  let line = 0;
  for await (const text of linesOf(chunks)) {
    line++;
    if (text.trim() === '') continue;
    try {
      const memory = lineFrom(text);
      const before = ids.get(memory.id);
      if (before !== undefined)
        throw new InvalidInput('invalid_input', `${memory.id} stands in line ${before} too`);
      ids.set(memory.id, line);
      lines.push({ line, memory });
    } catch (error) {
      bad++;
      if (errors.length < maxErrors) errors.push({ pointer: `/${line}`, detail: messageOf(error) });
    }
  }
  if (bad === 0) return lines;
  const [first] = errors;
  const rest = bad === 1 ? '' : ` (and ${bad - 1} more)`;
  throw new InvalidInput(
    'memory_import_invalid',
    `nothing was imported: line ${first!.pointer.slice(1)} of ${line}: ${first!.detail}${rest}`,
    { errors, facts: { lines: line, bad } },
  );
}

function lineFrom(text: string): MemoryLine {
  const value = parseJson(text, 'it');
  const line = decode(MemoryLine, value, 'it');
  const [unknown] = unknownKeys(MemoryLine, value);
  if (unknown !== undefined)
    throw new InvalidInput('invalid_input', `it: ${unknown.pointer} ${unknown.detail}`);
  return maskedLine({
    ...line,
    at: utc(line.at),
    recorded_at: utc(line.recorded_at)!,
    valid_from: utc(line.valid_from)!,
    valid_to: utc(line.valid_to),
    sightings: line.sightings.map((sighting) => ({ ...sighting, seen_at: utc(sighting.seen_at)! })),
    outcomes: line.outcomes.map((outcome) => ({ ...outcome, at: utc(outcome.at)! })),
  });
}

async function* linesOf(chunks: AsyncIterable<string> | Iterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of chunks) {
    const pieces = (rest + chunk).split('\n');
    rest = pieces.pop()!;
    yield* pieces;
    if (rest.length > maxLineLength)
      throw new InvalidInput(
        'memory_import_invalid',
        `nothing was imported: a line has more than ${maxLineLength} characters`,
      );
  }
  if (rest !== '') yield rest;
}

function stoppedAt(error: unknown, done: number, all: number): unknown {
  const said = `${done} of ${all} memories were imported before it stopped; importing again goes on there`;
  if (!(error instanceof CoreError))
    return new Failed('memory_import_stopped', `${messageOf(error)}; ${said}`, { cause: error });
  const { code, message, facts, errors, hint, retryAfter } = error;
  const Kind = error.constructor as typeof CoreError;
  return new Kind(code, `${message}; ${said}`, {
    cause: error,
    facts: { ...facts, done, all },
    errors,
    ...(hint === undefined ? {} : { hint }),
    ...(retryAfter === undefined ? {} : { retryAfter }),
  });
}

/**
 * A line of an import as it is kept: secrets are masked, as in what is recorded.
 * @throws InvalidInput for a secret in what stands for something: its session, a key
 */
function maskedLine(line: MemoryLine): MemoryLine {
  const names = [
    ['/session', line.session],
    ...line.sightings.map(({ key }, nth) => [`/sightings/${nth}/key`, key] as const),
  ] as const;
  for (const [pointer, name] of names) {
    if (name !== null && masked(name).text !== name)
      throw new InvalidInput(
        'invalid_input',
        `it: ${pointer} is "${masked(name).text}": must hold no secret: it stands for what it names`,
      );
  }
  return {
    ...line,
    content: masked(line.content).text,
    steps: line.steps.map((step) => masked(step).text),
    kind: masked(line.kind).text,
    source: maskedName(line.source).text,
    subject: maskedName(line.subject).text,
    predicate: maskedName(line.predicate).text,
    speaker: maskedName(line.speaker).text,
    sightings: line.sightings.map((one) => ({ ...one, source: maskedName(one.source).text })),
  };
}
