export { textWidth } from '#kit/cli/text-width.ts';
