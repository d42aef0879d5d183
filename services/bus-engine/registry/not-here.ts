/** What an iii has and this engine does not, by how ids of its functions begin. */
const functions: Readonly<Record<string, string>> = {
  'state::': 'stores of state',
  'stream::': 'streams',
  'iii::': 'queues',
  publish: 'topics',
  'engine::queue::': 'queues',
  'engine::traces::': 'traces',
  'engine::logs::': 'logs',
  'engine::log::': 'logs',
  'engine::metrics::': 'metrics',
};

const triggerTypes: Readonly<Record<string, string>> = {
  state: 'stores of state',
  stream: 'streams',
  'stream:join': 'streams',
  'stream:leave': 'streams',
  subscribe: 'topics',
  'durable:subscriber': 'queues',
  log: 'logs',
  trace: 'traces',
  configuration: 'triggers of its configuration',
};

export const elsewhere = 'an iii has them (url in bus.json names one)';

/** Why a function that an iii has cannot be called here; null for any other. */
export function functionNotHere(id: string): string | null {
  const start = Object.keys(functions).find((prefix) =>
    prefix.endsWith('::') ? id.startsWith(prefix) : id === prefix,
  );
  return start === undefined ? null : `${id}: this engine has no ${functions[start]}; ${elsewhere}`;
}

/** The same of a type of triggers. */
export function triggerTypeNotHere(type: string): string | null {
  if (!Object.hasOwn(triggerTypes, type)) return null;
  return `triggers of the type ${type}: this engine has no ${triggerTypes[type]}; ${elsewhere}`;
}
