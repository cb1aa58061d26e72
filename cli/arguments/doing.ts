/** Commands whose names say what they are about, not what they do. */
const nouns = /^(.*config|doctor|rate|rate-.*|scheduled|schedules|stats)$/

/** The command as a verb for a sentence: `push`, `use schedules`. */
export const doing = (command: string): string => (nouns.test(command) ? `use ${command}` : command)
