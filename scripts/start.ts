// The stack on this machine: npm start. Options are in local/console/start-options.ts.

import { startCommand } from '../local/console/start-command.ts'

// Not left to an empty event loop: a client's connection that is kept alive would hold it open.
process.exit(await startCommand(process.argv.slice(2)))
