import { UntranslatableRequest } from './invalid-request.ts';
import type { UserContent } from './provider.ts';

type FileContent = Extract<UserContent, { type: 'file' }>;

const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

/** @param url a data URL or an https address, which Anthropic itself fetches */
export function imagePart(url: string, param: string): FileContent {
  const data = dataUrl(url);
  if (data !== null) {
    if (!imageTypes.includes(data.mediaType))
      throw refusal(param, `holds ${data.mediaType || 'no media type'}`, imageTypes.join(', '));
    return { type: 'file', mediaType: data.mediaType, data: { type: 'data', data: data.base64 } };
  }
  if (!URL.canParse(url) || new URL(url).protocol !== 'https:')
    throw refusal(param, `is ${JSON.stringify(shortened(url))}`, 'an https address or a base64 data URL');
  return { type: 'file', mediaType: 'image/*', data: { type: 'url', url: new URL(url) } };
}

export function filePart(
  file: { file_data?: string | undefined; filename?: string | undefined },
  param: string,
): FileContent {
  const data = file.file_data === undefined ? null : dataUrl(file.file_data);
  if (data === null || data.mediaType !== 'application/pdf')
    throw refusal(
      `${param}.file_data`,
      data === null ? 'is no base64 data URL' : `holds ${data.mediaType}`,
      'a PDF as data URL: data:application/pdf;base64,…',
    );
  return {
    type: 'file',
    mediaType: data.mediaType,
    data: { type: 'data', data: data.base64 },
    ...(file.filename !== undefined && { filename: file.filename }),
  };
}

function dataUrl(url: string): { mediaType: string; base64: string } | null {
  const head = /^data:([^;,]*)(?:;[^;,]*)*;base64,/i.exec(url.slice(0, 200));
  return head === null ? null : { mediaType: head[1]!.toLowerCase(), base64: url.slice(head[0].length) };
}

function refusal(param: string, what: string, choices: string): UntranslatableRequest {
  return new UntranslatableRequest(
    `'${param}' ${what}; possible with an Anthropic model: ${choices}`,
    param,
    'invalid_value',
  );
}

function shortened(text: string): string {
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}
