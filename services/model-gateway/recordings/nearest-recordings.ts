import type { RecordedRequest } from './recording-key.ts';

export interface KnownRecording {
  readonly file: string;
  readonly model: string;
  readonly messages: readonly string[];
  readonly request: Readonly<Record<string, unknown>>;
}

const most = 3;

/** Words about the recordings that are most like a request, and where each begins to differ. */
export function nearestRecordings(asked: RecordedRequest, known: readonly KnownRecording[]): string[] {
  const model = String(asked.request.model);
  const rated = known.map((recording) => {
    const shared = sharedPrefix(asked.messages, recording.messages);
    const sameModel = recording.model === model ? 1 : 0;
    const sameLength = recording.messages.length === asked.messages.length ? 1 : 0;
    return { recording, shared, rating: shared * 4 + sameModel * 2 + sameLength };
  });
  return rated
    .sort((a, b) => b.rating - a.rating || a.recording.file.localeCompare(b.recording.file))
    .slice(0, most)
    .map(({ recording, shared }) => `${recording.file} (${difference(asked, recording, shared)})`);
}

function sharedPrefix(asked: readonly string[], recorded: readonly string[]): number {
  const differs = asked.findIndex((digest, index) => digest !== recorded[index]);
  return differs === -1 ? asked.length : differs;
}

function difference(asked: RecordedRequest, recording: KnownRecording, shared: number): string {
  if (asked.messages.length > recording.messages.length && shared === recording.messages.length)
    return `it has ${recording.messages.length} messages, this request ${asked.messages.length}`;
  if (shared < asked.messages.length || shared < recording.messages.length)
    return shared < asked.messages.length
      ? `messages[${shared}] is another`
      : `it has ${recording.messages.length} messages, this request ${asked.messages.length}`;
  const names = [...new Set([...Object.keys(asked.request), ...Object.keys(recording.request)])];
  const others = names.filter(
    (name) => JSON.stringify(asked.request[name]) !== JSON.stringify(recording.request[name]),
  );
  return others.length === 0 ? 'it differs in nothing that is written' : `${others.join(', ')} differ`;
}
