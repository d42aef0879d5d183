import { type DialectName, dialectOf, type Endpoint } from '../providers/endpoints.ts';
import { chat } from './chat/chat.ts';
import type { Dialect, EndpointFacts } from './dialect.ts';
import { google } from './google/google.ts';
import { messages } from './messages/messages.ts';
import { responses } from './responses/responses.ts';

export const dialects: Readonly<Record<DialectName, Dialect>> = { chat, messages, responses, google };

export function dialectFor(endpoint: Endpoint): Dialect {
  return dialects[dialectOf[endpoint]];
}

export function endpointFacts(endpoint: Endpoint): EndpointFacts {
  return dialectFor(endpoint).endpoints[endpoint]!;
}
