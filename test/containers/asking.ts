import type { ContainerStack } from './stack/container-stack.ts';

/** Rows of a Cypher query by core-context. @throws where it does not answer 200 */
export async function cypher(
  stack: ContainerStack,
  query: string,
  params: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  const { status, text } = await askCypher(stack, query, params);
  if (status !== 200) throw new Error(`${status}: ${text}`);
  return JSON.parse(text).rows;
}

export async function askCypher(
  stack: ContainerStack,
  query: string,
  params: Readonly<Record<string, unknown>>,
): Promise<{ status: number; text: string }> {
  const answer = await fetch(`${stack.url('core-context', 8090)}/v1/graphdb/cypher`, {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.token()}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query, params }),
  });
  return { status: answer.status, text: await answer.text() };
}

/** What a service answers the person. @param place as other containers call it, such as `core-agentd:7817/v1/runs` @throws above 299 */
export async function asked<T>(stack: ContainerStack, place: string, body?: unknown): Promise<T> {
  const [, service = '', port = '', path = ''] = /^([^:]+):(\d+)(\/.*)$/.exec(place) ?? [];
  const headers = { authorization: `Bearer ${stack.token()}`, 'content-type': 'application/json' };
  const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const answer = await fetch(stack.url(service, Number(port)) + path, { headers, ...sent });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${place}: ${answer.status} ${text}`);
  return JSON.parse(text);
}

export async function newestRun(stack: ContainerStack): Promise<string> {
  return JSON.parse(await stack.toolsDone('core-agentd', 'runs', '--json')).runs[0].run_id;
}

/** Asks again until the answer is there. @throws what the last question threw, after `within` ms */
export async function until<T>(within: number, ask: () => Promise<T | null>): Promise<T> {
  const end = Date.now() + within;
  for (;;) {
    let last: unknown = new Error('it did not come');
    try {
      const answer = await ask();
      if (answer !== null) return answer;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw last;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}
