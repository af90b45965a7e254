// Preloaded (`node --import`) into a server that would listen on every interface of the machine: 127.0.0.1 only.
import net from 'node:net';

const { listen } = net.Server.prototype;
net.Server.prototype.listen = function (port, ...rest) {
  const everywhere = /^\d+$/.test(String(port)) && typeof rest[0] !== 'string';
  return everywhere ? listen.call(this, port, '127.0.0.1', ...rest) : listen.call(this, port, ...rest);
};
