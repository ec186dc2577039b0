//! The chip's radio as a [`Radio`] of the transport.

use embassy_nrf::interrupt::typelevel::{Binding, RADIO as RadioInterrupt};
use embassy_nrf::radio::ieee802154::{Packet, Radio as Driver};
use embassy_nrf::radio::{Error, InterruptHandler};
use embassy_nrf::{Peri, pac, peripherals};
use firmware::net::radio::mac::{Channel, MacBuffer};
use firmware::net::radio::{Radio, ReceiveError, Reception, RxStatus, SendError};

/// Offset of the measured energy, in dBm (nRF52840 and nRF52833 product specifications, `ED_RSSIOFFS`).
const ENERGY_OFFSET_DBM: i16 = -93;
/// The shortest frame that has an energy measurement.
const MEASURED_BYTES_MIN: usize = 3;

pub(crate) struct NrfRadio {
    driver: Driver<'static>,
    packet: Packet,
}

impl NrfRadio {
    pub(crate) fn new(
        radio: Peri<'static, peripherals::RADIO>,
        interrupts: impl Binding<RadioInterrupt, InterruptHandler<peripherals::RADIO>> + 'static,
        channel: Channel,
    ) -> Self {
        let mut driver = Driver::new(radio, interrupts);
        driver.set_channel(channel.number());
        Self { driver, packet: Packet::new() }
    }
}

/// The frame start event, which the driver does not clear, and the frame end event.
pub(crate) struct NrfRxStatus;

impl RxStatus for NrfRxStatus {
    fn is_receiving(&self) -> bool {
        pac::RADIO.events_framestart().read() != 0 && pac::RADIO.events_phyend().read() == 0
    }
}

impl Radio for NrfRadio {
    type RxStatus = NrfRxStatus;

    fn rx_status(&self) -> NrfRxStatus {
        NrfRxStatus
    }

    async fn send(&mut self, frame: &[u8]) -> Result<(), SendError> {
        // The driver panics at a longer frame; the transport sends none.
        if frame.len() > usize::from(Packet::CAPACITY) {
            return Err(SendError::Failed);
        }
        self.packet.copy_from_slice(frame);
        self.driver.try_send(&mut self.packet).await.map_err(|error| match error {
            Error::ChannelInUse => SendError::Busy,
            _ => SendError::Failed, // buffers of invalid length or in flash, and errors of later drivers
        })
    }

    async fn receive(&mut self, buffer: &mut MacBuffer) -> Result<Reception, ReceiveError> {
        pac::RADIO.events_framestart().write_value(0); // of the frame before
        self.driver.receive(&mut self.packet).await.map_err(|error| match error {
            Error::CrcFailed(_) => ReceiveError::Corrupt,
            _ => ReceiveError::Failed, // as above
        })?;
        // The length is received data that the driver does not check.
        let length = usize::from(self.packet.len());
        let Some(target) = buffer.get_mut(..length).filter(|_| length >= MEASURED_BYTES_MIN) else {
            return Err(ReceiveError::Corrupt);
        };
        target.copy_from_slice(&self.packet);
        let energy = i16::from(self.packet.lqi()).saturating_add(ENERGY_OFFSET_DBM);
        let energy_dbm = i8::try_from(energy).unwrap_or(i8::MAX);
        // The link quality of this hardware is the energy again.
        Ok(Reception { length, energy_dbm, link_quality: u8::MAX })
    }
}
