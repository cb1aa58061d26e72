/** 64 characters that keys, ids and entries may contain; none of them separates their parts. */
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_~'

export function randomText(random: () => number, characters: number): string {
  let text = ''
  for (let i = 0; i < characters; i += 1) text += ALPHABET[Math.floor(random() * 64)]
  return text
}
