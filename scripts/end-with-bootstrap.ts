// `bootstrap.mjs` ends what it runs when npm is gone. A script that serves until it is stopped imports this file as well,
// and so ends when bootstrap itself is killed outright: only this process can see that.

const bootstrap = Number(process.env.PUSHPOP_BOOTSTRAP)

if (process.ppid === bootstrap) {
  setInterval(() => {
    if (process.ppid !== bootstrap) process.kill(process.pid, 'SIGTERM')
  }, 200).unref()
}
