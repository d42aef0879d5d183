import { Failed } from '#kit/errors.ts';
import { type Slot, slots } from '../action.ts';

const pattern = /\{\{([a-z_]+)\}\}/g;

/** Text from outside, made unable to open a slot: `{{` becomes `{ {`. */
export function withoutSlots(text: string): string {
  return text.replaceAll(/\{(?=\{)/g, '{ ');
}

/** Fills the slots of an approved template. Everything else stays byte for byte. */
export function fillTemplate(template: string, values: Readonly<Partial<Record<Slot, string>>>): string {
  return template.replace(pattern, (text, name: string) => {
    if (!(name in slots)) return text;
    const value = values[name as Slot];
    if (value === undefined) throw new Failed('slot_empty', `slot ${text} has no value yet`);
    return value;
  });
}
