'use strict';

// Serves the files of a folder on loopback, says its port on standard output, and notes each request in the file `requests`.

const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');

const folder = process.argv[2];
const server = http.createServer((request, response) => {
  fs.appendFileSync(path.join(folder, 'requests'), `${request.url}\n`);
  const file = path.join(folder, path.basename(request.url));
  if (!fs.existsSync(file)) {
    response.writeHead(404).end();
    return;
  }
  const bytes = fs.readFileSync(file);
  if (process.argv[3] === 'truncate') {
    response.writeHead(200, { 'content-length': bytes.length + 100 });
    response.write(bytes, () => response.destroy());
    return;
  }
  response.writeHead(200, { 'content-length': bytes.length }).end(bytes);
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));
