import { createHttpClient, type HttpClient } from './client.ts';

/** A client of a service that may come back at another address, or with another token. */
export interface ReresolvingClient {
  /** For one request. */
  now(): HttpClient;
  close(): Promise<void>;
}

/** @param address asked before each request */
export function reresolvingClient(
  address: () => { readonly baseUrl: string; readonly token: string },
  options: { readonly timeoutMs?: number } = {},
): ReresolvingClient {
  let current: { readonly baseUrl: string; readonly token: string; readonly client: HttpClient } | null =
    null;
  return {
    now() {
      const { baseUrl, token } = address();
      if (current?.baseUrl === baseUrl && current.token === token) return current.client;
      void current?.client.close();
      current = { baseUrl, token, client: createHttpClient({ baseUrl, token, ...options }) };
      return current.client;
    },
    close: async () => current?.client.close(),
  };
}
