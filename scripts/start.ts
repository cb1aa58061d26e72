// The stack on this machine: npm start. Options are in local/terminal/start-options.ts.

import './end-with-bootstrap.ts'
import { startCommand } from '../local/terminal/start-command.ts'

// We do not wait for an empty event loop: a client's idle connection would keep it open.
process.exit(await startCommand(process.argv.slice(2)))
