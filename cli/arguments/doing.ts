/** Commands that are called by what they are about. */
const nouns = /^(.*config|doctor|rate|rate-.*|scheduled|schedules|stats)$/

/** What somebody does who uses this command: `push`, `use schedules`. */
export const doing = (command: string): string => (nouns.test(command) ? `use ${command}` : command)
