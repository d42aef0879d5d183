import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';
import * as t from 'io-ts';
import { decode, optional, parseJson } from '#kit/decode.ts';
import { lookUpMemories } from '../../../services/context/memory/lookup/lookup.ts';
import { prepareRecording } from '../../../services/context/memory/prepare-recording.ts';
import { recordMemory } from '../../../services/context/memory/record-memory.ts';
import { GraphRecord } from '../../../services/context/record/graph-record.ts';
import { migrate } from '../../../services/context/store/schema.ts';
import { EmbeddingsClient } from '../../../services/context/vectors/embeddings-client.ts';
import { bytesOf, memoriesWithoutVector, vectorCommands } from '../../../services/context/vectors/vectors.ts';
import { difference, type Measures, measure, summaryOf } from './measures.ts';

/**
 * `node test/bench/retrieval/conversations.ts [--embeddings URL --model NAME] FILE…`: finds the turns that answer questions about
 * long conversations, in files as REALTALK and LoCoMo publish them, by words or with the vectors of `URL/v1/embeddings` too. Ends
 * with 1 where the lookup is not better than plain FTS5 for certain.
 */
const options = { embeddings: { type: 'string' }, model: { type: 'string', default: 'minilm' } } as const;
const { positionals: files, values } = parseArgs({ allowPositionals: true, options });
if (files.length === 0) {
  process.stderr.write('name the files of conversations, as REALTALK or LoCoMo publish them\n');
  process.exit(2);
}

const Turn = t.type({
  dia_id: t.string,
  speaker: t.string,
  text: optional(t.string),
  clean_text: optional(t.string),
  date_time: optional(t.string),
  blip_caption: optional(t.string),
});
const Question = t.type({ question: t.string, evidence: optional(t.array(t.string)) });

const listed = 20;
const noLimit = new AbortController().signal;
const client =
  values.embeddings === undefined
    ? null
    : new EmbeddingsClient({ url: values.embeddings, model: values.model, credential: null, secrets: '' });
const methods = { 'plain FTS5 over turns': [] as Measures[], 'the whole lookup': [] as Measures[] };
const [plainName, wholeName] = Object.keys(methods) as [keyof typeof methods, keyof typeof methods];
for (const file of files) await measureFile(file);
await client?.close();
for (const [name, all] of Object.entries(methods)) {
  const { mrr, recall } = summaryOf(all);
  const shown = [mrr, ...recall].map((share) => (100 * share).toFixed(1).padStart(7)).join('');
  process.stdout.write(`${name.padEnd(24)}${shown}   MRR, recall at 5, 10 and 20\n`);
}
const gain = difference(methods[wholeName], methods[plainName]);
const [low, high] = gain.interval.map((share) => (100 * share).toFixed(1));
process.stdout.write(`${methods[wholeName].length} questions; MRR gains ${low} to ${high} (95 %)\n`);
process.exit(gain.interval[0] > 0 ? 0 : 1);

async function measureFile(file: string): Promise<void> {
  const db = new DatabaseSync(':memory:');
  migrate(db);
  db.exec("CREATE VIRTUAL TABLE plain USING fts5(id UNINDEXED, text, tokenize = 'unicode61')");
  const json = parseJson(readFileSync(file, 'utf8'), file);
  const shape = t.type({ qa: t.array(Question), conversation: optional(t.UnknownRecord) });
  const { qa, conversation } = decode(shape, json, basename(file));
  const sessions = conversation ?? decode(t.UnknownRecord, json, basename(file));
  const record = new GraphRecord(db);
  const ids = new Map<string, string>();
  db.exec('BEGIN');
  for (let n = 1; sessions[`session_${n}`] !== undefined; n++) {
    const turns = decode(t.array(Turn), sessions[`session_${n}`], `session ${n} of ${basename(file)}`);
    const dated = sessions[`session_${n}_date_time`];
    for (const turn of turns) ids.set(turn.dia_id, recordTurn(record, `session_${n}`, turn, dated));
  }
  db.exec('COMMIT');
  if (client !== null) await embed(record, client);
  const everything = { layer: null, sessions: null, source: null, about: null, as_of: null };
  for (const { question, evidence = [] } of qa) {
    const answers = evidence
      .flatMap((one) => one.match(/D\d+:\d+/g) ?? [])
      .flatMap((one) => ids.get(one) ?? []);
    if (answers.length === 0) continue;
    const [vector = null] = (await client?.vectors([question], noLimit)) ?? [];
    const results = lookUpMemories(db, {
      ...everything,
      query: question,
      limit: listed,
      vector: vector && { model: values.model, vector },
    }).results;
    methods[wholeName].push(
      measure(
        results.map(({ id }) => id),
        answers,
      ),
    );
    methods[plainName].push(measure(plain(db, question), answers));
  }
  db.close();
}

async function embed(record: GraphRecord, client: EmbeddingsClient): Promise<void> {
  const { model } = client;
  const next = () => memoriesWithoutVector(record.db, { model, limit: 32 });
  for (let texts = next(); texts.length > 0; texts = next()) {
    const made = await client.vectors(
      texts.map(({ text }) => text),
      noLimit,
    );
    const vectors = texts.map(({ memory }, n) => ({ memory, vector: bytesOf(made[n]!) }));
    vectorCommands.storeVectors(record, { model, vectors });
  }
}

function recordTurn(
  record: GraphRecord,
  session: string,
  turn: t.TypeOf<typeof Turn>,
  dated: unknown,
): string {
  const said = turn.text ?? turn.clean_text ?? '';
  const shared = turn.blip_caption === undefined ? '' : `\n[shares ${turn.blip_caption}]`;
  const content = `${said}${shared}`.trim() || '[shares a picture]';
  const at = timeOf(turn.date_time ?? String(dated));
  const { id } = recordMemory(
    record,
    prepareRecording({ layer: 'episodic', content, session, speaker: turn.speaker, at }),
  );
  record.db.prepare('INSERT INTO plain (id, text) VALUES (?, ?)').run(id, `${turn.speaker}: ${content}`);
  return id;
}

/** `29.12.2023, 00:51:12` in REALTALK, `1:56 pm on 8 May, 2023` in LoCoMo. */
function timeOf(text: string): string {
  const [, day, month, year, time] = /^(\d+)\.(\d+)\.(\d+), ([\d:]+)$/.exec(text) ?? [];
  if (time !== undefined) return `${year}-${month}-${day}T${time}Z`;
  const [, clock, date] = /^(.*) on (.*)$/.exec(text) ?? [];
  return new Date(`${date} ${clock} UTC`).toISOString();
}

function plain(db: DatabaseSync, query: string): string[] {
  const words = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])];
  const match = words.map((word) => `"${word}"`).join(' OR ');
  const found = db
    .prepare('SELECT id FROM plain WHERE plain MATCH ? ORDER BY rank LIMIT ?')
    .all(match, listed);
  return found.map(({ id }) => id as string);
}
